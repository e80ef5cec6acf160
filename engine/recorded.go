package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/pawl-run/pawl/eventlog"
)

// Recorded collects where that stands in the log which a caller has had recorded: see WithRecorded.
type Recorded struct {
	mu sync.Mutex
	at map[int]uint64
}

// WithRecorded has the positions of what is recorded under the context noted.
func WithRecorded(ctx context.Context) (context.Context, *Recorded) {
	r := &Recorded{at: map[int]uint64{}}
	return context.WithValue(ctx, recordedKey{}, r), r
}

type recordedKey struct{}

// noteRecorded notes a position, if the caller wants to know it.
func noteRecorded(ctx context.Context, at eventlog.Position) {
	r, ok := ctx.Value(recordedKey{}).(*Recorded)
	if !ok || at.Seq == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at[at.Partition] = max(r.at[at.Partition], at.Seq)
}

// Positions are the newest of each partition, in their order.
func (r *Recorded) Positions() []eventlog.Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]eventlog.Position, 0, len(r.at))
	for p, seq := range maps.All(r.at) {
		all = append(all, eventlog.Position{Partition: p, Seq: seq})
	}
	slices.SortFunc(all, func(a, b eventlog.Position) int { return cmp.Compare(a.Partition, b.Partition) })
	return all
}

// AwaitPositions returns once this engine has read the log up to these positions, so that what it answers holds them.
// ErrUnavailable: it has not before ctx ended, or there is no such partition.
func (e *Engine) AwaitPositions(ctx context.Context, at ...eventlog.Position) error {
	if err := e.available(ctx); err != nil {
		return err
	}
	for _, position := range at {
		if position.Partition < 0 || position.Partition >= len(e.partitions) {
			return fmt.Errorf("%w: there is no partition %d, there are %d", ErrUnavailable, position.Partition,
				len(e.partitions))
		}
		if err := e.partitions[position.Partition].await(ctx, position.Seq); err != nil {
			return fmt.Errorf("%w: this engine has not read the log up to %s: %w", ErrUnavailable, position, err)
		}
	}
	return nil
}
