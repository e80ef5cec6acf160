package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/store"
)

// applied notes that the record is part of its workflow's state.
func (p *partition) applied(a *aggregate, r eventlog.Record) {
	defer p.advanced.Notify()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.touched[a] = struct{}{}
	if p.lag.Grow(r.Size) {
		select {
		case p.flushNow <- struct{}{}:
		default:
		}
	}
	p.progress.Pass(checkpointAt(r))
	p.read++
}

// passed notes that the record will not be part of its workflow's state, since the workflow is stopped. One
// broken workflow costs the others nothing: the checkpoint goes on, and the store keeps that this workflow
// is not covered by it.
func (p *partition) passed(a *aggregate, r eventlog.Record, why error) {
	defer p.advanced.Notify()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.skipped[a.name] {
		p.skipped[a.name] = true
		p.stops[a.name] = store.Stop{Workflow: a.name, Seq: r.Position.Seq, Reason: why.Error()}
	}
	p.touched[a] = struct{}{}
	p.progress.Pass(checkpointAt(r))
	p.read++
}

func checkpointAt(r eventlog.Record) store.Checkpoint {
	return store.Checkpoint{Seq: r.Position.Seq, Transition: r.ID, Hash: r.Hash}
}

// skipTo notes that the log holds nothing more before seq.
func (p *partition) skipTo(seq uint64) {
	defer p.advanced.Notify()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.progress.SkipTo(seq)
	p.read++
}

// writeBehind writes what changed to the store, coalesced.
func (p *partition) writeBehind(ctx context.Context) {
	ticker := time.NewTicker(p.process.Config.FlushEvery)
	defer ticker.Stop()
	logged := false
	for {
		select {
		case <-ticker.C:
		case <-p.flushNow:
		case <-ctx.Done():
			return
		}
		switch err := p.flush(); {
		case err == nil:
			logged = false
		case errors.Is(err, store.ErrFailed):
			return // the engine ends, and says why
		case !logged:
			// The store is disposable: without it, memory grows and starts take longer, but
			// nothing is lost.
			logged = true
			p.process.Log.Error("the local store cannot be written; finished work stays in memory", "error", err)
		}
	}
}

// flush commits every change so far. Each workflow's rows are a cut at its own revision; the
// checkpoint is the point up to which all of them are complete.
func (p *partition) flush() (err error) {
	p.flushing.Lock()
	defer p.flushing.Unlock()
	p.mu.Lock()
	touched := p.touched
	// The checkpoint is read before the states: they include everything up to it.
	batch := store.Batch{Partition: p.number, Checkpoint: p.progress.Low, Resumed: p.resumed}
	for _, stop := range p.stops {
		batch.Stops = append(batch.Stops, stop)
	}
	p.touched = map[*aggregate]struct{}{}
	p.lag.Begin()
	p.mu.Unlock()
	defer func() { p.lag.End(err) }()
	if len(touched) == 0 {
		return nil
	}
	flushed := make(map[*aggregate][]projections.Key, len(touched))
	for a := range touched {
		s, keys := a.memory.Cut()
		flushed[a] = keys
		if len(keys) > 0 {
			batch.Changes = append(batch.Changes, store.Change{State: s, Touched: keys})
		}
	}
	if err := p.process.Config.Store.Commit(batch); err != nil {
		p.mu.Lock()
		for a := range flushed {
			p.touched[a] = struct{}{}
			a.memory.NotCommitted()
		}
		p.mu.Unlock()
		return fmt.Errorf("write the local store: %w", err)
	}
	p.mu.Lock()
	for _, stop := range batch.Stops {
		delete(p.stops, stop.Workflow)
	}
	p.resumed = p.resumed[len(batch.Resumed):]
	p.mu.Unlock()
	for a, keys := range flushed {
		if !a.release(keys) {
			p.mu.Lock()
			p.touched[a] = struct{}{} // the next flush tries again if no record does before
			p.mu.Unlock()
		}
	}
	return nil
}
