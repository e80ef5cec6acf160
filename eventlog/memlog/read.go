package memlog

import (
	"context"
	"fmt"
	"iter"

	"github.com/pawl-run/pawl/eventlog"
)

// Read implements eventlog.Log.
func (l *Log) Read(ctx context.Context, p int, from uint64) iter.Seq2[eventlog.Record, error] {
	return l.read(ctx, p, from, func(m message, aside bool) bool { return !aside })
}

// ReadWorkflow implements eventlog.Log.
func (l *Log) ReadWorkflow(ctx context.Context, w eventlog.WorkflowName, from uint64) iter.Seq2[eventlog.Record,
	error] {
	return l.read(ctx, l.PartitionOf(w), from, func(m message, aside bool) bool { return !aside && m.workflow == w })
}

// read yields what is wanted of the messages.
func (l *Log) read(ctx context.Context, p int, from uint64,
	want func(m message, aside bool) bool) iter.Seq2[eventlog.Record, error] {
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
			m, aside, _, err := l.message(p, seq)
			if err != nil {
				yield(eventlog.Record{}, err)
				return
			}
			if m.lost || !want(m, aside) {
				continue
			}
			if !yield(decode(m, p, seq)) {
				return
			}
		}
	}
}

// ReadStored implements eventlog.StoredLog.
func (l *Log) ReadStored(ctx context.Context, p int, from uint64) iter.Seq2[eventlog.StoredRecord, error] {
	return func(yield func(eventlog.StoredRecord, error) bool) {
		for r, err := range l.Read(ctx, p, from) {
			stored := eventlog.StoredRecord{Record: r}
			if err == nil {
				var m message
				m, _, _, err = l.message(p, r.Position.Seq)
				stored.Stored = m.stored
			}
			if !yield(stored, err) {
				return
			}
		}
	}
}

// CheckPlace implements eventlog.PlaceChecker.
func (l *Log) CheckPlace(_ context.Context, p int, seq uint64, hash eventlog.Hash) error {
	m, _, missing, err := l.message(p, seq)
	switch {
	case err != nil:
		return err
	case missing != nil || m.lost || eventlog.HashOf(m.stored) != hash:
		return fmt.Errorf("%w: message %d of partition %d is not the one that was read there before", eventlog.ErrDamaged,
			seq, p)
	}
	return nil
}

// Watch implements eventlog.Log.
func (l *Log) Watch(ctx context.Context, p int, from uint64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		for seq := max(from, 1); ctx.Err() == nil; {
			m, aside, changed, err := l.message(p, seq)
			if err != nil {
				yield(eventlog.Record{}, err)
				return
			}
			if changed == nil {
				if !m.lost && !aside && !yield(decode(m, p, seq)) {
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

// message returns the message at seq and whether it is set aside, or, if there is none yet, a channel that is
// closed when the partition has grown.
func (l *Log) message(p int, seq uint64) (m message, aside bool, changed <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(p); err != nil {
		return m, false, nil, err
	}
	part := &l.partitions[p]
	if seq > uint64(len(part.messages)) {
		return m, false, part.changed, nil
	}
	m = part.messages[seq-1]
	return m, part.aside(m.workflow, seq), nil, nil
}

func decode(m message, p int, seq uint64) (eventlog.Record, error) {
	r := eventlog.Record{Position: eventlog.Position{Partition: p, Seq: seq}, Hash: eventlog.HashOf(m.stored),
		Size: len(m.stored)}
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
