package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// apply folds one record of the log into the state and notes what changed.
func (w *worker) apply(r eventlog.Record) error {
	s := *w.state()
	next, err := projections.Apply(s, r)
	if err != nil {
		w.stopAt(r, err)
		return err
	}
	w.mu.Lock()
	for _, k := range next.Touched {
		w.dirty[k] = struct{}{}
	}
	w.evictable = append(w.evictable, next.Parked...)
	w.current.Store(&next) // with the keys: a flush must not take them with the older state
	w.mu.Unlock()
	w.part.applied(w, r)
	if observe := w.engine.cfg.Observe; observe != nil {
		observe(r)
	}
	return nil
}

// catchUp reads what someone else wrote to the workflow. What was to be decided may be refused
// now, so the worker itself must look at the state again. Until it succeeds the worker is behind. A record
// that cannot be read or folded stops the workflow: errStopped.
func (w *worker) catchUp(ctx context.Context) error {
	defer w.nudge()
	w.behind.Store(true)
	read := 0
	for r, err := range w.engine.cfg.Log.ReadWorkflow(ctx, w.name, w.state().Head.Seq+1) {
		switch {
		case errors.Is(err, eventlog.ErrUnreadable):
			w.stopAt(r, fmt.Errorf("record %s: %w", r.Position, err))
			continue
		case err != nil:
			return fmt.Errorf("catch up on %s: %w", w.name, err)
		case w.stoppedBy() != nil:
			w.part.passed(w, r, w.stoppedBy())
			continue
		}
		if err := w.replayRecord(r); err != nil && !errors.Is(err, projections.ErrBroken) {
			return fmt.Errorf("catch up on %s: %w", w.name, err)
		}
		if read++; read%replayBatch == 0 {
			if err := w.part.flush(); err != nil {
				return fmt.Errorf("catch up on %s: %w", w.name, err)
			}
		}
	}
	w.behind.Store(false)
	if err := w.stoppedBy(); err != nil {
		return fmt.Errorf("%w: %w", errStopped, err)
	}
	return nil
}

// stopAt takes the workflow out of service at a record that cannot follow its past. The others' checkpoint
// goes on beyond it.
func (w *worker) stopAt(r eventlog.Record, err error) {
	w.stop(err)
	w.part.passed(w, r, err)
}

// replayRecord applies a record read from the log, with the history it needs.
func (w *worker) replayRecord(r eventlog.Record) error {
	if r.Position.Seq <= w.state().Head.Seq {
		w.part.applied(w, r) // the store has it already: its rows may be ahead of the checkpoint
		return nil
	}
	s := *w.state()
	asked := map[projections.Key]bool{}
	for {
		need := slices.DeleteFunc(projections.Needs(&s, r.Facts), func(k projections.Key) bool { return asked[k] })
		if len(need) == 0 {
			break
		}
		for _, k := range need {
			asked[k] = true
		}
		rows, err := w.engine.cfg.Store.Get(w.name, need)
		if err != nil {
			return fmt.Errorf("read history of %s: %w", w.name, err)
		}
		s = s.Hydrate(rows...)
		w.mayEvict(rows)
	}
	w.current.Store(&s)
	return w.apply(r)
}

// evict lets go of what a committed checkpoint holds: of finished entities altogether, of a long
// backlog's pending events but for their places. Under recording.
func (w *worker) evict() {
	if w.unsettled != nil {
		return // it will be applied to what was read for it, once it is known to be written
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.evictable) == 0 && !w.flushed {
		return
	}
	keys := slices.DeleteFunc(w.evictable, func(k projections.Key) bool { return !w.stored(k) })
	s := w.state().Evict(keys)
	if w.flushed { // before a flush, most of what could be paged out is not stored
		s = s.PageOut(w.engine.cfg.Window, w.stored)
	}
	w.current.Store(&s)
	w.evictable, w.flushed = nil, false
}

// stored reports whether the store has the entity as memory has it. Under w.mu.
func (w *worker) stored(k projections.Key) bool {
	_, changed := w.dirty[k]
	// A change on its way to the store is not there yet: after an eviction now, the next decision would
	// read the row from before the change.
	_, underWay := w.flushing[k]
	return !changed && !underWay
}

// mayEvict notes entities that came from the store.
func (w *worker) mayEvict(rows []any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, row := range rows {
		if k, ok := projections.KeyOf(row); ok {
			w.evictable = append(w.evictable, k)
		}
	}
}
