package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/engine/process"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// awaitOutcomes waits until everything that is under way has ended. In the end it gives up on what the log does not
// answer: the next start finds out what became of that.
func (e *Engine) awaitOutcomes() {
	if e.process.Writable.Err() == nil {
		drainCtx, cancel := context.WithTimeout(e.process.Writable, e.process.Config.DrainTimeout)
		e.process.Recordings.Wait(drainCtx) // it may start a call yet
		e.process.Calls.End()
		recorded, stop := context.WithTimeout(e.process.Writable, e.process.Config.SettleTimeout)
		if !e.process.Outcomes.Wait(recorded) && e.process.Writable.Err() == nil {
			e.process.Log.Warn("stopping although the log has not taken the outcomes of all calls; "+
				"those that follow are named and reconciled by the next start",
				"after", e.process.Config.SettleTimeout)
		}
		stop()
		if !e.process.Recordings.Wait(drainCtx) && e.process.Writable.Err() == nil {
			e.process.Log.Warn("stopping although the log has not said what became of the last decisions; the next start "+
				"finds out", "after", e.process.Config.DrainTimeout)
		}
		cancel()
	}
	e.process.EndLife()
	e.process.Recordings.End()
	e.process.Calls.End()
	e.process.Outcomes.End()
	e.logOpenCalls()
}

// drain keeps new runs from starting and waits for the active ones, while they can be recorded.
func (e *Engine) drain() {
	e.process.Draining.Store(true)
	timeout, cancel := context.WithTimeout(e.process.Writable, e.process.Config.DrainTimeout)
	defer cancel()
	e.nudgeAll()
	if err := e.waitUntil(timeout, noActiveRun); err != nil && e.process.Writable.Err() == nil {
		e.process.Log.Warn("stopping with handlers still running; their runs will be started again", "after",
			e.process.Config.DrainTimeout)
	}
}

// noActiveRun is the drain's condition: no handler runs, no call of ours is open.
func noActiveRun(r *runner) bool {
	if r.workflow.stoppedBy() != nil {
		return true
	}
	s := r.workflow.state()
	ended := func(run *projections.Run) bool {
		return run.Status != eventlog.RunActive || r.resting() != nil && run.Engine != r.engine.Name
	}
	if run := s.CurrentRun(); run != nil && !ended(run) {
		return false
	}
	for run := range s.OpenRuns() {
		if !ended(run) {
			return false
		}
	}
	return true
}

// maxNamed is how many open exchanges an engine names when it ends; of more it says how many.
const maxNamed = 20

// logOpenCalls names the exchanges that are still open when the engine ends, and says what the next start does
// about them: the other side may carry them out yet.
func (e *Engine) logOpenCalls() {
	open := 0
	for r := range e.runners() {
		for _, m := range r.calls.leftOpen() {
			if open++; open > maxNamed {
				continue
			}
			then := "a person decides once it can no longer be under way"
			if r.calls.canReconcile(m) {
				then = "its connector is asked; that it was not applied counts once it can no longer be under way"
			}
			if m.Call.Resends() {
				then = "the same is sent again with the same key, to find out, once it can no longer be under way"
			}
			now := e.process.Config.Clock.Now()
			over := now.Add(max(m.Deadline.Time().Sub(now), callTimeout(m)) + decide.ReconcileMargin + timeAfterDeadline(m,
				e.process.Config.Connectors.Ending(r.calls.call(m))))
			r.log.Warn("stopping while a request is open: the other side may carry it out yet",
				append(r.calls.logAttrs(m), "next start", then, "not before", over.UTC().Format(time.RFC3339))...)
		}
	}
	if open > maxNamed {
		e.process.Log.Warn("stopping while more requests are open", "named", maxNamed, "open", open)
	}
}

// waitUntil returns once the condition holds for every runner.
func (e *Engine) waitUntil(ctx context.Context, holds func(*runner) bool) error {
	return e.process.Idle.Wait(ctx, func() bool {
		for r := range e.runners() {
			if !holds(r) {
				return false
			}
		}
		return true
	})
}

// WaitIdle returns once nothing is active, due or backing off. Schedules, wakeAt and waits for a
// person do not count as work, nor does a workflow that has failed so often that it needs attention (F8).
func (e *Engine) WaitIdle(ctx context.Context) error {
	select {
	case <-e.ready:
	case <-ctx.Done():
		return ctx.Err()
	}
	return e.waitUntil(ctx, func(r *runner) bool {
		if r.workflow.stoppedBy() != nil || r.workflow.journal.tenure() == nil {
			return true // or another engine's
		}
		rest := r.quiet()
		if rest == nil {
			return false
		}
		s := r.workflow.state()
		return !slices.ContainsFunc(rest, func(wait decide.Wait) bool {
			return wait.Reason.Meaning() == decide.GoesOn && !decide.NeedsAttention(s, wait)
		})
	})
}

// Manual reports whether the engine follows a clock that stands still until it is advanced.
func (e *Engine) Manual() bool {
	_, ok := e.process.Config.Clock.(*clock.Manual)
	return ok
}

// Advance moves a manual clock, stopping at each due moment in order and letting everything there come to rest. It
// returns the new time once nothing is active or due. With by = 0 it moves nothing and only waits. Errors:
// *decide.Refusal where the clock is the machine's, ErrUnavailable when the engine does not come to rest before ctx
// ends.
func (e *Engine) Advance(ctx context.Context, by time.Duration) (time.Time, error) {
	manual, ok := e.process.Config.Clock.(*clock.Manual)
	if !ok {
		return time.Time{}, &decide.Refusal{
			Kind: decide.Conflict, Code: "clock.system",
			Message: "this engine follows the machine's clock, which cannot be advanced",
			Hint:    hint.Of(hint.ManualClock),
		}
	}
	if err := e.available(ctx); err != nil {
		return time.Time{}, err
	}
	e.advancing.Lock()
	defer e.advancing.Unlock()
	until := manual.Now().Add(by)
	for {
		if err := e.awaitRest(ctx); err != nil {
			return manual.Now(), fmt.Errorf("%w: the engine does not come to rest: %w", process.ErrUnavailable, err)
		}
		if !manual.Step(until) {
			return manual.Now(), nil
		}
	}
}

// awaitRest returns once no runner has anything to do at the clock's time.
func (e *Engine) awaitRest(ctx context.Context) error {
	return e.waitUntil(ctx, func(r *runner) bool {
		if r.workflow.stoppedBy() != nil || r.workflow.journal.tenure() == nil {
			return true
		}
		rest := r.quiet()
		return rest != nil && !slices.ContainsFunc(rest, func(wait decide.Wait) bool {
			return wait.Reason == decide.ReasonCall || wait.Reason == decide.ReasonStorage || // for the machine, not the clock
				wait.Until != 0 && !wait.Until.Time().After(e.process.Config.Clock.Now())
		})
	})
}
