package loss

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/store"
)

// Ahead is what the local store has seen of a partition and the log does not hold any more.
type Ahead struct {
	Partition int
	// Seen is the last sequence that the store knows of, End the log's last.
	Seen, End uint64
	// Workflows have lost their newest transitions.
	Workflows []eventlog.WorkflowName
}

// String says it for the operator.
func (a Ahead) String() string {
	return fmt.Sprintf(
		"the local store has seen position %d:%d, the log ends at %d:%d and does not hold all that was there",
		a.Partition, a.Seen, a.Partition, a.End)
}

// Refuse is the error of a start: what is lost may have been acknowledged, and requests may have left
// after it.
func (a Ahead) Refuse() error { return fmt.Errorf("%w: %s", eventlog.ErrDamaged, a) }

// FindAhead compares the local store with the log. A store of another log, or of a log whose loss was
// accepted, is worthless and never ahead. It fails when the log or the store cannot be read.
func FindAhead(ctx context.Context, log eventlog.Log, st *store.Store) ([]Ahead, error) {
	var found []Ahead
	for p := range log.Partitions() {
		cp, ok, err := st.Checkpoint(p)
		if err != nil {
			return nil, fmt.Errorf("read the store's checkpoint: %w", err)
		}
		if !ok || cp.Identity != log.Identity(p) {
			continue
		}
		heads, err := storedHeads(st, p)
		if err != nil {
			return nil, err
		}
		tail := NewWitness(cp, heads, cp.Seq)
		if err := tail.read(ctx, log, p, cp.Seq); err != nil {
			return nil, err
		}
		if tail.Agrees() {
			continue
		}
		// Whose transitions are gone shows only in all of the log: its sequences may have been used again.
		all := NewWitness(cp, heads, 0)
		if err := all.read(ctx, log, p, 1); err != nil {
			return nil, err
		}
		ahead := Ahead{Partition: p, Seen: cp.Seq, Workflows: slices.Sorted(maps.Keys(all.heads))}
		for _, head := range heads {
			ahead.Seen = max(ahead.Seen, head.Seq)
		}
		if ahead.End, err = log.Last(ctx, p); err != nil {
			return nil, fmt.Errorf("find the end of the log: %w", err)
		}
		found = append(found, ahead)
	}
	return found, nil
}

func storedHeads(st *store.Store, partition int) (map[eventlog.WorkflowName]eventlog.Head, error) {
	names, err := st.Workflows(partition)
	if err != nil {
		return nil, fmt.Errorf("list the store's workflows: %w", err)
	}
	heads := make(map[eventlog.WorkflowName]eventlog.Head, len(names))
	for _, name := range names {
		rows, err := st.Get(name, []projections.Key{projections.WorkflowKey()})
		if err != nil {
			return nil, fmt.Errorf("read workflow %s from the store: %w", name, err)
		}
		for _, row := range rows {
			if core, ok := row.(*projections.Workflow); ok {
				heads[name] = core.Head
			}
		}
	}
	return heads, nil
}

// Witness looks in the log for what the local store has seen of it.
type Witness struct {
	checkpoint store.Checkpoint // the zero one once it was found
	heads      map[eventlog.WorkflowName]eventlog.Head
}

// NewWitness looks for the checkpoint and for the heads beyond a sequence.
func NewWitness(cp store.Checkpoint, heads map[eventlog.WorkflowName]eventlog.Head, beyond uint64) *Witness {
	w := &Witness{checkpoint: cp, heads: map[eventlog.WorkflowName]eventlog.Head{}}
	for name, head := range heads {
		if head.Seq > beyond {
			w.heads[name] = head
		}
	}
	return w
}

// See takes in a record, also one that cannot be decoded.
func (w *Witness) See(r eventlog.Record) {
	if r.Position.Seq == w.checkpoint.Seq && r.Hash == w.checkpoint.Hash {
		w.checkpoint = store.Checkpoint{}
	}
	if head, ok := w.heads[r.Workflow]; ok && r.Position.Seq == head.Seq && r.Hash == head.Hash {
		delete(w.heads, r.Workflow)
	}
}

// Agrees reports whether everything was found.
func (w *Witness) Agrees() bool { return w.checkpoint.Seq == 0 && len(w.heads) == 0 }

// read looks at the log from a sequence on. Holes are not looked at here: the log reports them itself.
func (w *Witness) read(ctx context.Context, log eventlog.Log, partition int, from uint64) error {
	for r, err := range log.Read(ctx, partition, max(from, 1)) {
		switch {
		case err == nil, errors.Is(err, eventlog.ErrUnreadable):
			w.See(r)
		case !errors.Is(err, eventlog.ErrDamaged):
			return fmt.Errorf("compare the local store with the log: %w", err)
		}
	}
	return nil
}
