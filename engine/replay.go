package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/engine/loss"
	"github.com/pawl-run/pawl/engine/process"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/store"
)

// replay brings memory and store to the log's head. A store that turns out to be damaged is disposable: it is emptied,
// and the whole log is read, including the partitions that were read already.
func (e *Engine) replay(ctx context.Context) error {
	err := e.replayOnto(ctx)
	if !errors.Is(err, store.ErrDamaged) {
		return err
	}
	e.process.Log.Warn("the local store is damaged and is rebuilt from the log", "error", err)
	if err := e.process.Config.Store.Reset(); err != nil {
		return fmt.Errorf("reset the store: %w", err)
	}
	for _, p := range e.partitions {
		p.reset()
	}
	return e.replayOnto(ctx)
}

// replayOnto replays every partition onto what the store holds of this log.
func (e *Engine) replayOnto(ctx context.Context) error {
	if err := e.disown(); err != nil {
		return err
	}
	for _, p := range e.partitions {
		if err := p.replay(ctx); err != nil {
			return err
		}
	}
	return nil
}

// disown empties the store of what it holds of other logs: all of it, or single partitions.
func (e *Engine) disown() error {
	var foreign []int
	own := false
	for _, p := range e.partitions {
		cp, found, err := e.process.Config.Store.Checkpoint(p.number)
		switch {
		case err != nil:
			return fmt.Errorf("read the store's checkpoint: %w", err)
		case found && cp.Identity != e.process.Config.Log.Identity(p.number):
			foreign = append(foreign, p.number)
		case found:
			own = true
		}
	}
	if len(foreign) == 0 {
		return nil
	}
	if !own { // it may hold partitions that this log does not have
		e.process.Log.Warn("the local store belongs to another log and is rebuilt")
		if err := e.process.Config.Store.Reset(); err != nil {
			return fmt.Errorf("reset the store: %w", err)
		}
		return nil
	}
	for _, partition := range foreign {
		e.process.Log.Warn("the local store holds another log's partition, which is rebuilt", "partition", partition)
		if err := e.process.Config.Store.Forget(partition); err != nil {
			return fmt.Errorf("reset the store of partition %d: %w", partition, err)
		}
	}
	return nil
}

// replay brings memory and store to the log's head: it reads the checkpoint's live work, then the tail after it.
func (p *partition) replay(ctx context.Context) error {
	cp, found, err := p.process.Config.Store.Checkpoint(p.number)
	if err != nil {
		return fmt.Errorf("read the store's checkpoint: %w", err)
	}
	last, err := p.process.Config.Log.Last(ctx, p.number)
	if err != nil {
		return fmt.Errorf("find the end of the log: %w", err)
	}
	if found {
		p.progress.From(cp)
		if err := p.restore(); err != nil {
			return err
		}
	}
	return p.replayTail(ctx, cp, last)
}

// replayTail reads the log from the checkpoint to its last sequence. It refuses a log that does not hold all
// that the store has seen of it.
func (p *partition) replayTail(ctx context.Context, cp store.Checkpoint, last uint64) error {
	seen, heads := loss.Ahead{Partition: p.number, Seen: cp.Seq, End: last}, map[eventlog.WorkflowName]eventlog.Head{}
	for name, r := range p.runners {
		heads[name] = r.workflow.state().Head
		seen.Seen = max(seen.Seen, heads[name].Seq)
	}
	if seen.Seen > last {
		return seen.Refuse()
	}
	witness := loss.NewWitness(cp, heads, cp.Seq)
	if err := p.retryStopped(ctx); err != nil {
		return err
	}
	count := 0
	for r, err := range p.process.Config.Log.Read(ctx, p.number, max(cp.Seq, 1)) {
		witness.See(r)
		if r.Position.Seq != 0 {
			// Every sequence is accounted for: what is not yielded was accepted as lost.
			p.skipTo(r.Position.Seq)
		}
		if err != nil {
			if p.unreadable(r, err) {
				continue
			}
			return fmt.Errorf("replay partition %d: %w", p.number, err)
		}
		p.lastAt = max(p.lastAt, r.At)
		if r.Position.Seq == cp.Seq {
			if r.Hash != cp.Hash {
				return seen.Refuse()
			}
			continue
		}
		a := p.open(r.Workflow)
		if err := a.stoppedBy(); err != nil {
			p.passed(a, r, err)
			continue
		}
		if err := a.replayRecord(r); err != nil && !errors.Is(err, projections.ErrBroken) {
			return err
		}
		if count++; count%replayBatch == 0 || p.lag.Due() {
			if err := p.flush(); err != nil {
				return err
			}
		}
	}
	if !witness.Agrees() {
		return seen.Refuse()
	}
	p.skipTo(last + 1)
	if _, resumes := p.process.Config.Clock.(interface{ Resume(time.Time) }); resumes && p.lastAt == 0 && cp.Seq > 1 {
		if err := p.findLastAt(ctx, cp.Seq-1); err != nil {
			return err
		}
	}
	return p.flush()
}

// findLastAt looks further back for the newest transition that can be read, where the checkpoint's own cannot: a
// manual clock goes on from there, and must not begin again.
func (p *partition) findLastAt(ctx context.Context, before uint64) error {
	for back := uint64(16); p.lastAt == 0; back *= 16 {
		from := uint64(1)
		if before > back {
			from = before - back
		}
		for r, err := range p.process.Config.Log.Read(ctx, p.number, from) {
			switch {
			case err == nil:
				p.lastAt = max(p.lastAt, r.At)
			case !errors.Is(err, eventlog.ErrUnreadable) && !errors.Is(err, eventlog.ErrDamaged):
				return fmt.Errorf("find the time of the newest transition in partition %d: %w", p.number, err)
			}
			if r.Position.Seq >= before {
				break
			}
		}
		if from == 1 {
			return nil
		}
	}
	return nil
}

// restore reads the checkpoint's live work.
func (p *partition) restore() error {
	names, err := p.process.Config.Store.Workflows(p.number)
	if err != nil {
		return fmt.Errorf("list the store's workflows: %w", err)
	}
	for _, name := range names {
		s, err := p.process.Config.Store.Load(name)
		if err != nil {
			return fmt.Errorf("load workflow %s from the store: %w", name, err)
		}
		p.runners[name] = newRunner(newAggregate(p.process, p.number, p, name, s))
	}
	return nil
}

// retryStopped reads stopped workflows, which the checkpoint does not cover, from their last good record on. This
// version may be able to fold what another version could not.
func (p *partition) retryStopped(ctx context.Context) error {
	stops, err := p.process.Config.Store.Stops(p.number)
	if err != nil {
		return fmt.Errorf("list the store's stopped workflows: %w", err)
	}
	for _, stop := range stops {
		a := p.open(stop.Workflow)
		switch err := a.catchUp(ctx); {
		case errors.Is(err, process.ErrStopped): // it has said why
		case err != nil:
			return err
		default:
			p.process.Log.Info("a workflow that was stopped can be followed again", "workflow", stop.Workflow, "stoppedAt",
				stop.Seq, "was", stop.Reason)
			p.mu.Lock()
			p.resumed = append(p.resumed, stop.Workflow)
			p.touched[a] = struct{}{}
			p.mu.Unlock()
		}
	}
	return nil
}
