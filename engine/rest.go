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
)

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
