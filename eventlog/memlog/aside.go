package memlog

import (
	"context"
	"iter"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
)

var _ eventlog.LossKeeper = (*Log)(nil)

// Spoil makes the message at a position unreadable, as damage of the disk does.
func (l *Log) Spoil(at eventlog.Position) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partitions[at.Partition].messages[at.Seq-1].stored = []byte("spoiled")
}

// LastLost implements eventlog.LossKeeper: no message is ever missing.
func (l *Log) LastLost(int) uint64 { return 0 }

// Asides implements eventlog.LossKeeper.
func (l *Log) Asides(p int) []eventlog.Aside {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.partitions[p].asides)
}

// SetAside implements eventlog.LossKeeper. Everything fits.
func (l *Log) SetAside(_ context.Context, p int, more []eventlog.Aside) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(p); err != nil {
		return 0, err
	}
	part := &l.partitions[p]
	part.asides = append(part.asides, more...)
	part.losses++
	return len(more), nil
}

// ReadAll implements eventlog.LossKeeper.
func (l *Log) ReadAll(ctx context.Context, p int, from uint64) iter.Seq2[eventlog.Record, error] {
	return l.read(ctx, p, from, func(message, bool) bool { return true })
}

// aside reports whether the workflow's message at seq is set aside.
func (p *partition) aside(w eventlog.WorkflowName, seq uint64) bool {
	return slices.ContainsFunc(p.asides, func(a eventlog.Aside) bool {
		return (a.Workflow == "" || a.Workflow == w) && a.From <= seq && seq <= a.To
	})
}
