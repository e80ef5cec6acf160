package memlog

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"

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
	part.unrecorded = append(part.unrecorded, eventlog.Missing{From: at.Seq, To: at.Seq})
	slices.SortFunc(part.unrecorded, func(a, b eventlog.Missing) int { return cmp.Compare(a.From, b.From) })
	for w, seqs := range part.workflows {
		part.workflows[w] = slices.DeleteFunc(seqs, func(seq uint64) bool { return seq == at.Seq })
	}
}

// SameLog implements eventlog.LossKeeper.
func (l *Log) SameLog(identity string, p int) bool {
	whole := l.installation + "/" + strconv.Itoa(p)
	return identity == whole || strings.HasPrefix(identity, whole+"/")
}

// Unrecorded implements eventlog.LossKeeper.
func (l *Log) Unrecorded(p int) []eventlog.Missing {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.partitions[p].unrecorded)
}

// Recorded implements eventlog.LossKeeper.
func (l *Log) Recorded(_ context.Context, p int, namesLost bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(p); err != nil {
		return err
	}
	part := &l.partitions[p]
	part.unrecorded, part.namesLost = nil, part.namesLost || namesLost
	return nil
}

// NamesLost implements eventlog.LossKeeper.
func (l *Log) NamesLost(p int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.partitions[p].namesLost
}

// ConfirmNames implements eventlog.LossKeeper.
func (l *Log) ConfirmNames(_ context.Context, p int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(p); err != nil {
		return err
	}
	l.partitions[p].namesLost = false
	return nil
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
