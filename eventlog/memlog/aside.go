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

// Lose makes a message missing, as a hole in the sequences that was accepted as lost.
func (l *Log) Lose(at eventlog.Position) {
	l.mu.Lock()
	defer l.mu.Unlock()
	part := &l.partitions[at.Partition]
	part.messages[at.Seq-1] = message{lost: true}
	part.losses++
	for w, seqs := range part.workflows {
		part.workflows[w] = slices.DeleteFunc(seqs, func(seq uint64) bool { return seq == at.Seq })
	}
}

// LastLost implements eventlog.LossKeeper.
func (l *Log) LastLost(p int) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	messages := l.partitions[p].messages
	from := len(messages)
	for from > 0 && !messages[from-1].lost {
		from--
	}
	for from > 1 && messages[from-2].lost {
		from--
	}
	return uint64(from)
}

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
