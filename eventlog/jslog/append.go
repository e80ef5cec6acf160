package jslog

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	"github.com/pawl-run/pawl/eventlog"
)

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

// raiseFormat makes the partition's stream say that it holds what an older version does not know, before
// the first such message is written: an older one then refuses the log by its format, and does not take
// that message for damage. It never lowers what the stream says.
func (l *Log) raiseFormat(ctx context.Context, p, want int) error {
	f := &l.partitions[p].format
	f.raising.Lock()
	defer f.raising.Unlock()
	if want <= f.known {
		return nil
	}
	says := 0
	err := l.retry(ctx, func() error {
		info, err := l.info(ctx, l.names.stream(p))
		if err != nil {
			return err
		}
		cfg := info.Config
		// What cannot be read as a number was refused when the log was opened.
		if says, err = strconv.Atoi(cfg.Metadata[metaFormat]); err != nil || says >= want {
			return err
		}
		cfg.Metadata = maps.Clone(cfg.Metadata)
		cfg.Metadata[metaFormat] = strconv.Itoa(want)
		_, err = l.js.UpdateStream(ctx, cfg)
		return err
	})
	if err != nil {
		// Nothing of the entry was handed to the stream, or an earlier try has raised the format already.
		return fmt.Errorf("%w: say that the log has format %d: %w", eventlog.ErrUnconfirmed, want, err)
	}
	f.known = max(want, says)
	return nil
}

// lastForeign is the sequence of the last message, under the name of a workflow that has no transition yet, that was
// set aside for no workflow: a foreign one. The first transition follows it. It is 0 when there is none.
func (l *Log) lastForeign(ctx context.Context, p int, w eventlog.WorkflowName) (uint64, error) {
	aside, last := l.partitions[p].aside, uint64(0)
	for _, s := range aside[""] {
		for at := s.from; at <= s.to; at++ {
			m, err := l.fetchAgain(ctx, p, query{Seq: at, Next: l.names.fence(p, w)})
			if isMessageNotFound(err) {
				return last, nil
			}
			if err != nil {
				return 0, fmt.Errorf("look for foreign messages: %w", err)
			}
			if !aside.hold("", m.Seq) {
				return last, nil
			}
			last, at = m.Seq, m.Seq
		}
	}
	return last, nil
}
