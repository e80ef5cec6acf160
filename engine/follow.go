package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/engine/process"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// apply folds one record of the log into the state, with the history that it needs, and notes what changed. folded is
// of this process's own decision on the record, nil for a record that it has not decided.
func (a *aggregate) apply(r eventlog.Record, folded *projections.Folded) error {
	next, err := a.fold(a.state(), &r, folded)
	if err != nil {
		return err
	}
	a.memory.Applied(next)
	a.journal.applied(a, r)
	if observe := a.engine.Config.Observe; observe != nil {
		observe(r)
	}
	return nil
}

// fold returns the state after the record. It uses what the decision has folded where it can, else it folds again.
func (a *aggregate) fold(s *projections.State, r *eventlog.Record,
	folded *projections.Folded) (*projections.State, error) {
	if next, ok := folded.Apply(s, r); ok {
		return next, nil
	}
	return projections.Replay(s, r, a.history)
}

// follow reads what others have written to the workflow.
func (a *aggregate) follow(ctx context.Context) error {
	if err := a.beginRecording(ctx); err != nil {
		return err
	}
	defer a.engine.Decisions.Done()
	defer a.endRecording()
	return a.catchUp(ctx)
}

// catchUp reads what another process wrote to the workflow. What was to be decided may be refused
// now, so the runner must look at the state again. Until it succeeds the workflow is behind. A record
// that cannot be read or folded stops the workflow: process.ErrStopped.
func (a *aggregate) catchUp(ctx context.Context) error {
	defer a.nudge()
	a.behind.Store(true)
	read := 0
	for r, err := range a.engine.Config.Log.ReadWorkflow(ctx, a.name, a.state().Head.Seq+1) {
		switch {
		case errors.Is(err, eventlog.ErrUnreadable):
			if _, err := a.journal.last(ctx); err != nil { // it may be newer than this version, which is no damage
				return fmt.Errorf("catch up on %s at %s: %w", a.name, r.Position, err)
			}
			a.stopAt(r, fmt.Errorf("record %s: %w", r.Position, err))
			continue
		case err != nil:
			return fmt.Errorf("catch up on %s: %w", a.name, err)
		case a.stoppedBy() != nil:
			a.journal.passed(a, r, a.stoppedBy())
			continue
		}
		if err := a.replayRecord(r); err != nil && !errors.Is(err, projections.ErrBroken) {
			return fmt.Errorf("catch up on %s: %w", a.name, err)
		}
		if read++; read%replayBatch == 0 {
			if err := a.journal.flush(); err != nil {
				return fmt.Errorf("catch up on %s: %w", a.name, err)
			}
		}
	}
	a.behind.Store(false)
	if err := a.stoppedBy(); err != nil {
		return fmt.Errorf("%w: %w", process.ErrStopped, err)
	}
	return nil
}

// stopAt takes the workflow out of service at a record that cannot follow its past. The others' checkpoint
// goes on beyond it.
func (a *aggregate) stopAt(r eventlog.Record, err error) {
	a.stop(err)
	a.journal.passed(a, r, err)
}

// replayRecord applies a record read from the log. One that cannot follow stops the workflow.
func (a *aggregate) replayRecord(r eventlog.Record) error {
	if r.Position.Seq <= a.state().Head.Seq {
		a.journal.applied(a, r) // the store has it already: its rows may be ahead of the checkpoint
		return nil
	}
	err := a.apply(r, nil)
	if errors.Is(err, projections.ErrBroken) {
		a.stopAt(r, err)
	}
	return err
}

// history reads rows that are not in memory, and notes that they may leave it again.
func (a *aggregate) history(keys []projections.Key) ([]any, error) {
	rows, err := a.engine.Config.Store.Get(a.name, keys)
	if err != nil {
		return nil, fmt.Errorf("read history of %s: %w", a.name, err)
	}
	a.memory.MayEvict(rows)
	return rows, nil
}

// replayBatch is after how many records at the latest a replay writes to the store, so that its memory
// stays flat.
const replayBatch = 5000
