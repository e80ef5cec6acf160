package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/engine/hint"

	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/process"
	"github.com/pawl-run/pawl/projections/store"
)

// Run replays the log and runs the workflows until ctx ends; then it lets active handlers end
// (at most DrainTimeout), waits for what is on its way into the log (at most as long again), for calls that
// have left (until their deadlines) and for their outcomes to be recorded (at most SettleTimeout), writes the
// store and returns nil. It names the calls that it leaves open or unrecorded. It returns an error when the log
// is damaged or full, or the store cannot be written.
func (e *Engine) Run(ctx context.Context) error {
	defer e.process.EndLife()
	defer e.process.Fail(nil)
	defer e.process.Outdate(nil)
	defer e.process.Closed.Store(true)
	if err := e.replay(ctx); err != nil {
		return err
	}
	if clock, ok := e.process.Config.Clock.(interface{ Resume(time.Time) }); ok {
		for _, p := range e.partitions {
			clock.Resume(p.lastAt.Time())
		}
	}
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	for _, p := range e.partitions {
		p.start(work)
	}
	var fatal error
	if e.process.Config.Leases == nil {
		fatal = e.runAll(ctx, work)
	} else {
		fatal = e.runShare(ctx)
	}
	stop()
	for _, p := range e.partitions {
		p.join()
	}
	e.awaitOutcomes()
	for _, p := range e.partitions {
		err := p.flush()
		if errors.Is(err, store.ErrDamaged) {
			e.process.Log.Error("the local store could not be written at the end; the next start rebuilds it from the log",
				"error", err)
		} else if err != nil && fatal == nil {
			fatal = err
		}
	}
	if e.process.Writable.Err() != nil {
		return context.Cause(e.process.Writable)
	}
	return fatal
}

// runAll owns every partition until ctx ends, or log or store cannot be written. The error is the store's.
func (e *Engine) runAll(ctx, work context.Context) (fatal error) {
	for _, p := range e.partitions {
		p.begin(work, &process.Tenure{})
	}
	close(e.ready)
	select {
	case <-ctx.Done():
		e.drain()
	case <-e.process.Config.Store.Failed():
		e.drain() // the log still takes what is under way
		fatal = e.process.Config.Store.Err()
	case <-e.process.Writable.Done():
	}
	return fatal
}

// runShare follows every partition, and owns those that this engine is given, until ctx ends, or log or store cannot be
// written. It hands over what it owns before it returns. The error is the store's or that of the leases. Once the log
// cannot be read any more, it hands over what it owns and does nothing until then.
func (e *Engine) runShare(ctx context.Context) (fatal error) {
	keeping, endKeeping := context.WithCancel(context.WithoutCancel(ctx))
	kept := make(chan error, 1)
	go func() { kept <- e.process.Config.Leases.Run(keeping, e.Lacks) }()
	sharing, endSharing := context.WithCancel(e.process.Readable)
	defer endSharing()
	var shared sync.WaitGroup
	for _, p := range e.partitions {
		shared.Go(func() { p.followAndOwn(sharing) })
	}
	close(e.ready)
	select {
	case <-ctx.Done():
	case <-e.process.Config.Store.Failed():
		fatal = e.process.Config.Store.Err()
	case <-e.process.Writable.Done():
	case fatal = <-kept:
		kept <- nil
	}
	e.process.Draining.Store(true)
	e.process.Config.Leases.Leave()
	e.nudgeAll()
	endSharing()
	shared.Wait()
	endKeeping()
	if err := <-kept; fatal == nil && !errors.Is(err, context.Canceled) {
		fatal = err
	}
	return fatal
}

// start begins what is at work until ctx ends, whichever engine owns the partition.
func (p *partition) start(ctx context.Context) {
	p.backgroundDone.Go(func() { p.writeBehind(ctx) })
	p.backgroundDone.Go(func() { p.watchGaps(ctx) })
	if p.process.Config.Leases != nil {
		p.freshAt.Store(int64(clock.Elapsed())) // it has just been replayed
		p.backgroundDone.Go(func() { p.watchHead(ctx) })
	}
}

// join waits for the end of all that is at work.
func (p *partition) join() {
	p.runnersDone.Wait()
	p.backgroundDone.Wait()
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

// awaitOutcomes waits until everything that is under way has ended. In the end it gives up on what the log does not
// answer: the next start finds out what became of that.
func (e *Engine) awaitOutcomes() {
	if e.process.Writable.Err() == nil {
		drainCtx, cancel := context.WithTimeout(e.process.Writable, e.process.Config.DrainTimeout)
		e.process.Decisions.Wait(drainCtx) // it may start a call yet
		e.process.Calls.End()
		recorded, stop := context.WithTimeout(e.process.Writable, e.process.Config.SettleTimeout)
		if !e.process.Outcomes.Wait(recorded) && e.process.Writable.Err() == nil {
			e.process.Log.Warn("stopping although the log has not taken the outcomes of all calls; "+
				"those that follow are named and reconciled by the next start",
				"after", e.process.Config.SettleTimeout)
		}
		stop()
		if !e.process.Decisions.Wait(drainCtx) && e.process.Writable.Err() == nil {
			e.process.Log.Warn("stopping although the log has not said what became of the last decisions; the next start "+
				"finds out", "after", e.process.Config.DrainTimeout)
		}
		cancel()
	}
	e.process.EndLife()
	e.process.Decisions.End()
	e.process.Calls.End()
	e.process.Outcomes.End()
	e.logOpenCalls()
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
