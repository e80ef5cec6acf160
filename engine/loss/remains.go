package loss

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/store"
)

// calls lists the calls that the acceptance gives up.
func (s *pasts) calls(loss Loss) []GivenUp {
	var all []GivenUp
	for _, past := range s.sorted() {
		if !s.concerned(past, loss) {
			continue
		}
		for _, call := range past.remains.Calls(past.state) {
			all = append(all, GivenUp{past.name, call})
		}
	}
	return all
}

// learn finds out what happened in the parts that are given up: from their records that can be read, and from
// what the local store has folded of them. Where the store shows that nothing of a past is missing, that past is
// not concerned.
func (s *pasts) learn(ctx context.Context, log eventlog.Log, partition int, loss Loss) error {
	folded, err := s.foldedBefore(ctx, log, partition, loss)
	if err != nil {
		return err
	}
	defer folded.close()
	s.forgotten(folded.heads, loss)
	s.foreignNames(folded.heads)
	s.namesLost = !loss.Only && !folded.covers && (loss.End || s.lastUnattributed > 0)
	concerned, from := map[eventlog.WorkflowName]*past{}, uint64(0)
	for _, past := range s.sorted() {
		if !s.concerned(past, loss) || past.name == eventlog.Installation {
			continue
		}
		head := folded.heads[past.name]
		past.remains.Whole = folded.covers
		past.whole = folded.covers && past.aside == nil && !past.unproven && len(past.parts) == 0 &&
			head.Seq <= past.last.Position.Seq
		concerned[past.name] = past
		// What the store has not folded is read from the log, also where it is no part that is given up.
		after := past.lastKnown()
		if folded.covers {
			after = min(after, head.Seq)
		}
		if from == 0 || after+1 < from {
			from = after + 1
		}
	}
	if len(concerned) == 0 {
		return nil
	}
	found := map[*past]bool{}
	find := func(p *past) error {
		if found[p] {
			return nil
		}
		found[p] = true
		return folded.tell(p)
	}
	for r, err := range readAll(ctx, log, partition, from) {
		past := concerned[r.Workflow]
		switch {
		case err != nil && !errors.Is(err, eventlog.ErrUnreadable) && !errors.Is(err, eventlog.ErrDamaged):
			return fmt.Errorf("read what is given up: %w", err)
		case past == nil:
			continue
		case r.Position.Seq > folded.heads[r.Workflow].Seq:
			if err := find(past); err != nil {
				return err
			}
		case r.Position.Seq == folded.heads[r.Workflow].Seq && r.Hash != folded.heads[r.Workflow].Hash:
			past.remains.Whole, past.whole = false, false // the store has seen another past
		}
		if err != nil {
			past.remains.Whole, past.whole = past.remains.Whole && r.Position.Seq <= folded.heads[r.Workflow].Seq, false
			continue
		}
		if slices.Contains(past.parts, r.Position.Seq) {
			continue // it tells of what is given up, and is no part of it
		}
		for _, fact := range r.Facts {
			past.remains.Saw(fact, r.At)
		}
	}
	for _, past := range concerned {
		if err := find(past); err != nil {
			return err
		}
	}
	return nil
}

// forgotten adds the workflows that the log has nothing left of, and that only the local store knows: without a
// record of the loss, the first deploy of such a name would do again all that was done.
func (s *pasts) forgotten(known map[eventlog.WorkflowName]eventlog.Head, loss Loss) {
	if loss.Only {
		return // the caller names them
	}
	for name, head := range known {
		if s.all[name] == nil && head.Revision > 0 {
			s.of(name).unproven = true
		}
	}
}

// folded is what the local store has folded of a partition.
type folded struct {
	snapshot *store.Snapshot // nil when it knows nothing of this log
	heads    map[eventlog.WorkflowName]eventlog.Head
	// covers: nothing is missing from the log after the store's checkpoint.
	covers bool
}

// foldedBefore opens the local store, if it is this log's. The log has got another identity since: a loss is
// being accepted.
func (s *pasts) foldedBefore(ctx context.Context, log eventlog.Log, partition int, loss Loss) (*folded, error) {
	f := &folded{}
	if loss.Store == nil {
		return f, nil
	}
	cp, ok, err := loss.Store.Checkpoint(partition)
	if errors.Is(err, store.ErrDamaged) || err == nil && (!ok || !sameLog(log, cp.Identity, partition)) {
		return f, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the store's checkpoint: %w", err)
	}
	heads, err := storedHeads(loss.Store, partition)
	if errors.Is(err, store.ErrDamaged) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	stops, err := loss.Store.Stops(partition)
	if err != nil {
		return nil, fmt.Errorf("list the store's stopped workflows: %w", err)
	}
	f.heads = heads
	f.covers = !loss.End && !loss.Only && len(stops) == 0 && s.lastLost <= cp.Seq && holds(ctx, log, partition, cp)
	if f.snapshot, err = loss.Store.Snapshot(); err != nil {
		return nil, err
	}
	return f, nil
}

// sameLog reports whether a store of that identity has folded the partition, perhaps before a loss was accepted.
func sameLog(log eventlog.Log, identity string, partition int) bool {
	if keeper, ok := log.(eventlog.LossKeeper); ok {
		return keeper.SameLog(identity, partition)
	}
	return identity == log.Identity(partition)
}

// holds reports whether the log has the checkpoint's message, or lacks that one and none after it.
func holds(ctx context.Context, log eventlog.Log, partition int, cp store.Checkpoint) bool {
	for r := range readAll(ctx, log, partition, max(cp.Seq, 1)) {
		if r.Position.Seq == cp.Seq {
			return r.Hash == cp.Hash
		}
		return r.Position.Seq == cp.Seq+1
	}
	last, err := log.Last(ctx, partition)
	return err == nil && last > 0 && last == cp.Seq
}

func (f *folded) close() {
	if f.snapshot != nil {
		f.snapshot.Close()
	}
}

// tell gives the past's remains what the store has of the workflow. A row that cannot be read tells nothing, and
// then nothing counts as whole.
func (f *folded) tell(p *past) error {
	if f.snapshot == nil || f.heads[p.name].Revision == 0 {
		return nil
	}
	err := f.read(p)
	if errors.Is(err, store.ErrDamaged) {
		p.remains.Whole, p.whole = false, false
		return nil
	}
	return err
}

func (f *folded) read(p *past) error {
	rows, err := f.snapshot.Get(p.name, []projections.Key{projections.WorkflowKey()})
	if err != nil {
		return err
	}
	var script eventlog.Version
	for _, row := range rows {
		if core, ok := row.(*projections.Workflow); ok && core.Head.Revision >= p.proven.Revision {
			script = core.Version
			p.remains.Found(core)
		}
	}
	if script != "" {
		if rows, err = f.snapshot.Get(p.name, []projections.Key{projections.ScriptKey(script)}); err != nil {
			return err
		}
		handlers, err := f.snapshot.Handlers(p.name)
		if err != nil {
			return err
		}
		for _, h := range handlers {
			rows = append(rows, h)
		}
		for _, row := range rows {
			p.remains.Found(row)
		}
	}
	for _, kind := range []projections.EntityKind{projections.KindEvent, projections.KindMutation} {
		for item, err := range f.snapshot.List(store.Range{Kind: kind, Workflow: p.name}, store.Position{}) {
			if err != nil {
				return err
			}
			p.remains.Found(item.Entity)
			if m, ok := item.Entity.(*projections.Mutation); ok && !p.settled(m) {
				runs, err := f.snapshot.Get(p.name, []projections.Key{projections.RunKey(m.Run)})
				if err != nil {
					return err
				}
				for _, run := range runs {
					p.remains.Found(run)
				}
			}
		}
	}
	return nil
}

// settled reports whether the mutation is final in the past that is left.
func (p *past) settled(m *projections.Mutation) bool {
	known := p.state.Mutation(m.ID)
	return known != nil && known.Status.Final()
}

// foreignNames treats messages as foreign if no record under their name can be read and the local store does not
// know the name. Foreign messages are set aside without their names, which saves space.
func (s *pasts) foreignNames(known map[eventlog.WorkflowName]eventlog.Head) {
	for _, past := range s.sorted() {
		if past.read || past.unproven || past.aside == nil || known[past.name].Revision > 0 {
			continue
		}
		s.foreign = append(s.foreign, past.foreign...)
		delete(s.all, past.name)
	}
}
