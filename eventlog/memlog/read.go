package memlog

import (
	"context"
	"fmt"
	"iter"

	"github.com/pawl-run/pawl/eventlog"
)

// Read implements eventlog.Log.
func (l *Log) Read(ctx context.Context, p int, from uint64) iter.Seq2[eventlog.Record, error] {
	return l.read(ctx, p, from, "")
}

// ReadWorkflow implements eventlog.Log.
func (l *Log) ReadWorkflow(ctx context.Context, w eventlog.WorkflowName, from uint64) iter.Seq2[eventlog.Record, error] {
	return l.read(ctx, l.PartitionOf(w), from, w)
}

func (l *Log) read(ctx context.Context, p int, from uint64, only eventlog.WorkflowName) iter.Seq2[eventlog.Record, error] {
	last, lastErr := l.Last(ctx, p)
	return func(yield func(eventlog.Record, error) bool) {
		if lastErr != nil {
			yield(eventlog.Record{}, lastErr)
			return
		}
		for seq := max(from, 1); seq <= last; seq++ {
			if err := context.Cause(ctx); err != nil {
				yield(eventlog.Record{}, fmt.Errorf("read log at %d:%d: %w", p, seq, err))
				return
			}
			m, _, err := l.message(p, seq)
			if err != nil {
				yield(eventlog.Record{}, err)
				return
			}
			if only != "" && m.workflow != only {
				continue
			}
			if !yield(decode(m, p, seq)) {
				return
			}
		}
	}
}

// Watch implements eventlog.Log.
func (l *Log) Watch(ctx context.Context, p int, from uint64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		for seq := max(from, 1); ctx.Err() == nil; {
			m, changed, err := l.message(p, seq)
			if err != nil {
				yield(eventlog.Record{}, err)
				return
			}
			if changed == nil {
				if !yield(decode(m, p, seq)) {
					return
				}
				seq++
				continue
			}
			select {
			case <-changed:
			case <-l.closing:
			case <-ctx.Done():
			}
		}
	}
}

// message returns the message at seq, or, if there is none yet, a channel that is closed when
// the partition has grown.
func (l *Log) message(p int, seq uint64) (message, <-chan struct{}, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(p); err != nil {
		return message{}, nil, err
	}
	if part := &l.partitions[p]; seq > uint64(len(part.messages)) {
		return message{}, part.changed, nil
	}
	return l.partitions[p].messages[seq-1], nil, nil
}

func decode(m message, p int, seq uint64) (eventlog.Record, error) {
	r := eventlog.Record{Position: eventlog.Position{Partition: p, Seq: seq}, Hash: eventlog.HashOf(m.stored), Size: len(m.stored)}
	t, err := eventlog.Decode(m.stored)
	if err == nil && t.Workflow != m.workflow {
		err = fmt.Errorf("%w: it names workflow %q", eventlog.ErrUnreadable, t.Workflow)
	}
	if err != nil {
		r.Workflow = m.workflow
		return r, fmt.Errorf("read %s at %s: %w", m.workflow, r.Position, err)
	}
	r.Transition = t
	return r, nil
}
