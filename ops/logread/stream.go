package logread

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/pawl-run/pawl/ops/rpc"
)

// Stream sends server-sent events, one for each transition. The `id:` of an event are the positions up to which all
// partitions were read. An unreadable record is sent as an event of type `problem` and passed over, so that a reader
// that resumes is not stuck at it. Without follow the stream ends where the log does. Only then it ends normally: a
// stream that is cut off, or reaches a place where the log fails, is aborted, so that its reader cannot take a part for
// the whole.
func (r *Reader) Stream(ctx context.Context, w http.ResponseWriter, c *rpc.Caller, q *Query, from []uint64) error {
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	send := func(frame []byte, now bool) bool {
		rpc.LimitWrite(w)
		if _, err := w.Write(frame); err != nil {
			return false
		}
		return !now || out.Flush() == nil
	}
	if !send([]byte(": pawl log\n\n"), true) { // the reader sees at once that it is connected
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	read := make(chan readRecord)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.readAll(ctx, q, from, read)
	}()
	defer func() { cancel(); <-ended }()
	alive := time.NewTicker(r.KeepAlive)
	defer alive.Stop()
	for n := 0; ; {
		select {
		case <-ended:
			if ctx.Err() != nil && !q.Follow {
				panic(http.ErrAbortHandler)
			}
			return nil
		case <-r.Revocations.Next():
			if !r.Guard.Open(c) {
				return cutOff(q)
			}
		case <-alive.C:
			if !r.Guard.Open(c) {
				return cutOff(q)
			}
			if !send([]byte(": alive\n\n"), true) {
				return nil
			}
		case got := <-read:
			if got.err != nil && ctx.Err() != nil {
				continue // the error says only that ctx has ended
			}
			if got.record.Position.Seq > 0 {
				from[got.record.Position.Partition] = got.record.Position.Seq + 1
			}
			if !r.Guard.Open(c) {
				return cutOff(q)
			}
			if got.foreign(q) {
				continue
			}
			switch {
			case got.last:
				_ = r.Fault(got.err) // it is called for its log line; the frame has a problem of its own
			case got.err != nil:
				r.Saw(got.err.Error())
			}
			frame, err := r.frame(got, from)
			if err != nil {
				r.Logger.Error("a log stream was cut off", "error", err)
				panic(http.ErrAbortHandler)
			}
			switch sent := send(frame, q.Follow || got.last); {
			case sent && got.last && !q.Follow:
				panic(http.ErrAbortHandler)
			case !sent || got.last:
				return nil
			}
			if got.err == nil {
				if n++; n == int(q.Limit) {
					return nil
				}
			}
		}
	}
}

// cutOff ends a stream before its end. A reader that follows the log asks again by itself; any other reader must see
// that the answer is not complete.
func cutOff(q *Query) error {
	if !q.Follow {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// frame is a record, or a problem, as a server-sent event; next are the positions at which reading goes on.
func (r *Reader) frame(got readRecord, next []uint64) ([]byte, error) {
	b := append(r.appendPositions([]byte("id: "), next, 1), '\n')
	var body []byte
	var err error
	if got.err != nil {
		b = append(b, "event: problem\n"...)
		body, err = json.Marshal(r.Problem(got.err))
	} else {
		body, err = json.Marshal(got.record)
	}
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", got.record.Position, err)
	}
	b = append(b, "data: "...)
	return append(append(b, body...), "\n\n"...), nil
}
