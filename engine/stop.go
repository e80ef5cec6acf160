package engine

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// awaitOutcomes waits until everything that is under way has ended. In the end it gives up on what the log does not
// answer: the next start finds out what became of that.
func (e *Engine) awaitOutcomes() {
	if e.writable.Err() == nil {
		drainCtx, cancel := context.WithTimeout(e.writable, e.cfg.DrainTimeout)
		e.recordings.Wait(drainCtx) // it may start a call yet
		e.calls.End()
		recorded, stop := context.WithTimeout(e.writable, e.cfg.SettleTimeout)
		if !e.outcomes.Wait(recorded) && e.writable.Err() == nil {
			e.log.Warn("stopping although the log has not taken the outcomes of all calls; "+
				"those that follow are named and reconciled by the next start",
				"after", e.cfg.SettleTimeout)
		}
		stop()
		if !e.recordings.Wait(drainCtx) && e.writable.Err() == nil {
			e.log.Warn("stopping although the log has not said what became of the last decisions; the next start finds out",
				"after", e.cfg.DrainTimeout)
		}
		cancel()
	}
	e.endLife()
	e.recordings.End()
	e.calls.End()
	e.outcomes.End()
	e.logOpenCalls()
}

// drain keeps new runs from starting and waits for the active ones, while they can be recorded.
func (e *Engine) drain() {
	e.draining.Store(true)
	timeout, cancel := context.WithTimeout(e.writable, e.cfg.DrainTimeout)
	defer cancel()
	e.nudgeAll()
	if err := e.waitUntil(timeout, noActiveRun); err != nil && e.writable.Err() == nil {
		e.log.Warn("stopping with handlers still running; their runs will be started again", "after", e.cfg.DrainTimeout)
	}
}

// noActiveRun is the drain's condition: no handler runs, no call of ours is open.
func noActiveRun(r *runner) bool {
	if r.workflow.stoppedBy() != nil {
		return true
	}
	s := r.workflow.state()
	ended := func(run *projections.Run) bool {
		return run.Status != eventlog.RunActive || r.resting() != nil && run.Engine != r.engine.name
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
			now := e.cfg.Clock.Now()
			over := now.Add(max(m.Deadline.Time().Sub(now), callTimeout(m)) + decide.ReconcileMargin + timeAfterDeadline(m,
				e.cfg.Connectors.Ending(r.calls.call(m))))
			r.log.Warn("stopping while a request is open: the other side may carry it out yet",
				append(r.calls.logAttrs(m), "next start", then, "not before", over.UTC().Format(time.RFC3339))...)
		}
	}
	if open > maxNamed {
		e.log.Warn("stopping while more requests are open", "named", maxNamed, "open", open)
	}
}
