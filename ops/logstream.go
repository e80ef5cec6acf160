package ops

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
)

// merged reads all partitions to their present ends, merged by time; within a partition the order
// is that of the log.
func (s *Server) merged(ctx context.Context, from []uint64, only eventlog.WorkflowName) iter.Seq2[eventlog.Record,
	error] {
	if only != "" {
		p := s.cfg.Log.PartitionOf(only)
		return s.cfg.Log.ReadWorkflow(ctx, only, from[p])
	}
	if len(from) == 1 {
		return s.cfg.Log.Read(ctx, 0, from[0])
	}
	return func(yield func(eventlog.Record, error) bool) {
		type lane struct {
			next   func() (eventlog.Record, error, bool)
			record eventlog.Record
			err    error
		}
		var lanes []*lane
		for p := range from {
			next, stop := iter.Pull2(s.cfg.Log.Read(ctx, p, from[p]))
			defer stop()
			if record, err, ok := next(); ok {
				lanes = append(lanes, &lane{next, record, err})
			}
		}
		for len(lanes) > 0 {
			first := 0
			for i, l := range lanes {
				if l.err != nil || lanes[first].err == nil && l.record.At < lanes[first].record.At {
					first = i
				}
			}
			l := lanes[first]
			if !yield(l.record, l.err) {
				return
			}
			var ok bool
			if l.record, l.err, ok = l.next(); !ok {
				lanes = append(lanes[:first], lanes[first+1:]...)
			}
		}
	}
}

// streamLog sends server-sent events: a transition each, `id:` being how far all partitions were
// read. An unreadable record is sent as an event of type `problem` and passed over, so that a reader
// that resumes is not stuck at it. Without follow the stream ends where the log does, and only then
// in order: one that is cut off, or comes to where the log fails, is aborted, so that its reader cannot
// take a part for the whole.
func (s *Server) streamLog(ctx context.Context, w http.ResponseWriter, c *Call, q *logRequest, from []uint64) error {
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
		s.readAll(ctx, q, from, read)
	}()
	defer func() { cancel(); <-ended }()
	alive := time.NewTicker(s.cfg.KeepAlive)
	defer alive.Stop()
	for n := 0; ; {
		select {
		case <-ended:
			if ctx.Err() != nil && !q.Follow {
				panic(http.ErrAbortHandler)
			}
			return nil
		case <-s.revocations.Next():
			if !s.guard.Open(&c.Caller) {
				return cutOff(q)
			}
		case <-alive.C:
			if !s.guard.Open(&c.Caller) {
				return cutOff(q)
			}
			if !send([]byte(": alive\n\n"), true) {
				return nil
			}
		case got := <-read:
			if got.err != nil && ctx.Err() != nil {
				continue // no news of the log: this end was asked for
			}
			if got.record.Position.Seq > 0 {
				from[got.record.Position.Partition] = got.record.Position.Seq + 1
			}
			if !s.guard.Open(&c.Caller) {
				return cutOff(q)
			}
			if got.foreign(q.Workflow) {
				continue
			}
			switch {
			case got.last:
				_ = s.fault("readLog", got.err) // the problem says that there is more to read here
			case got.err != nil:
				s.cfg.Engine.Saw(got.err.Error())
			}
			frame, err := got.frame(from)
			if err != nil {
				s.cfg.Logger.Error("a log stream was cut off", "error", err)
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

// cutOff ends a stream before its end. A reader that goes on forever asks again; another one must see that
// there is more.
func cutOff(q *logRequest) error {
	if !q.Follow {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// readRecord is what a reader of a partition came to.
type readRecord struct {
	record eventlog.Record
	err    error
	last   bool // nothing follows the error
}

// foreign says that it is of another workflow than the one that is asked for, whether or not it can be
// read, or of the installation: it only moves the reader on.
func (r readRecord) foreign(only eventlog.WorkflowName) bool {
	if r.record.Workflow == eventlog.Installation && r.err == nil {
		return true
	}
	return only != "" && !r.last && r.record.Workflow != "" && r.record.Workflow != only
}

func (r readRecord) frame(next []uint64) ([]byte, error) {
	b := append(appendPositions([]byte("id: "), next, 1), '\n')
	var body []byte
	var err error
	if r.err != nil {
		b = append(b, "event: problem\n"...)
		body, err = json.Marshal(problemOf(r.err))
	} else {
		body, err = json.Marshal(r.record)
	}
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", r.record.Position, err)
	}
	b = append(b, "data: "...)
	return append(append(b, body...), "\n\n"...), nil
}

// readAll sends records until ctx ends, the log ends (without follow) or fails. Who follows one workflow
// gets those of its partition, and passes the foreign ones over.
func (s *Server) readAll(ctx context.Context, q *logRequest, from []uint64, to chan<- readRecord) {
	from = append([]uint64(nil), from...) // the stream moves its own along
	pass := func(records iter.Seq2[eventlog.Record, error]) {
		for record, err := range records {
			got := readRecord{record, err, err != nil && !readable(err)}
			select {
			case to <- got:
			case <-ctx.Done():
				return
			}
			if got.last {
				return
			}
		}
	}
	if !q.Follow {
		pass(s.merged(ctx, from, q.Workflow))
		return
	}
	if q.Workflow != "" {
		p := s.cfg.Log.PartitionOf(q.Workflow)
		pass(s.cfg.Log.Watch(ctx, p, from[p]))
		return
	}
	done := make(chan struct{})
	for p := range from {
		go func() {
			defer func() { done <- struct{}{} }()
			pass(s.cfg.Log.Watch(ctx, p, from[p]))
		}()
	}
	for range from {
		<-done
	}
}
