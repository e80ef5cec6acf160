package jslog

import (
	"context"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/eventlog"
)

// request is one Append on its way.
type request struct {
	ctx       context.Context
	entry     eventlog.Entry
	partition int
	subject   string
	fence     string
	// follows is the sequence of the workflow's last message, as the entry expects it. expects is the one that
	// the server must know as the last: another one only behind records that are lost, see followLost.
	follows, expects uint64
	// uncertain: an attempt was made whose fate is not known. Only an acknowledgement or a
	// refusal by the fence may then decide the append.
	uncertain bool
	done      chan result // buffered: the sender of the answer never waits for the caller
}

type result struct {
	written eventlog.Written
	err     error
}

// Append implements eventlog.Log.
func (l *Log) Append(ctx context.Context, e eventlog.Entry) (eventlog.Written, error) {
	if err := e.Workflow.ValidateOwner(); err != nil {
		return eventlog.Written{}, fmt.Errorf("append: %w", err)
	}
	if err := checkKind(e.Kind); err != nil {
		return eventlog.Written{}, fmt.Errorf("append to %s: %w", e.Workflow, err)
	}
	if len(e.Stored) > l.maxSize {
		return eventlog.Written{}, fmt.Errorf("append %s revision %d of %d bytes, the log takes %d: %w",
			e.Workflow, e.Expected.Revision+1, len(e.Stored), l.maxSize, eventlog.ErrTooLarge)
	}
	p := l.PartitionOf(e.Workflow)
	if e.Format > eventlog.FormatFirst {
		if err := l.raiseFormat(ctx, p, e.Format); err != nil {
			return eventlog.Written{}, fmt.Errorf("append to %s: %w", e.Workflow, err)
		}
	}
	follows := l.partitions[p].aside.last(e.Workflow, e.Expected.Seq)
	if follows == 0 && len(l.partitions[p].aside[""]) > 0 {
		var err error
		if follows, err = l.lastForeign(ctx, p, e.Workflow); err != nil {
			return eventlog.Written{}, fmt.Errorf("append to %s: %w: %w", e.Workflow, eventlog.ErrUnconfirmed, err)
		}
	}
	r := &request{
		ctx: ctx, entry: e, partition: p,
		subject: l.names.subject(p, e.Workflow, e.Kind), fence: l.names.fence(p, e.Workflow),
		follows: follows, expects: follows,
		uncertain: l.isUnconfirmed(e),
		done:      make(chan result, 1),
	}
	var res result
	if l.partitions[p].committer.enqueue(r) {
		select {
		case res = <-r.done:
		case <-ctx.Done():
			// The committer may have it in its hands.
			res.err = fmt.Errorf("%w: %w", eventlog.ErrUnconfirmed, context.Cause(ctx))
		}
	} else {
		res.err = r.refuse(eventlog.ErrClosed)
	}
	l.noteFate(e, res.err)
	if res.err != nil {
		return eventlog.Written{}, fmt.Errorf("append to %s at revision %d: %w", e.Workflow, e.Expected.Revision+1, res.err)
	}
	return res.written, nil
}

// isUnconfirmed reports whether an earlier Append of this entry ended with ErrUnconfirmed.
func (l *Log) isUnconfirmed(e eventlog.Entry) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unconfirmed[e.Workflow] == e.ID
}

// noteFate keeps the id of a workflow's unconfirmed append: a later attempt that is refused for
// want of space must not say that nothing was written.
func (l *Log) noteFate(e eventlog.Entry, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case isUnconfirmed(err):
		l.unconfirmed[e.Workflow] = e.ID
	case l.unconfirmed[e.Workflow] == e.ID:
		delete(l.unconfirmed, e.Workflow)
	}
}

// refuse is the error for an append that ends without being written by this attempt.
func (r *request) refuse(reason error) error {
	if r.uncertain {
		return fmt.Errorf("%w: %w", eventlog.ErrUnconfirmed, reason)
	}
	return reason
}

// message builds the form of the entry on the wire. What is stored of it is always the same.
func (r *request) message() *nats.Msg {
	return &nats.Msg{
		Subject: r.subject,
		Header: nats.Header{
			jetstream.ExpectedLastSubjSeqHeader:     {strconv.FormatUint(r.expects, 10)},
			jetstream.ExpectedLastSubjSeqSubjHeader: {r.fence},
		},
		Data: r.entry.Stored,
	}
}

// succeed answers that the entry stands at seq, and whether others had written after it by then.
func (r *request) succeed(seq uint64, overtaken bool) {
	r.done <- result{written: eventlog.Written{Head: r.entry.HeadAt(seq), Overtaken: overtaken}}
}

func (r *request) fail(err error) { r.done <- result{err: err} }
