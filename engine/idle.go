package engine

import (
	"context"

	"github.com/pawl-run/pawl/engine/decide"
)

// waitUntil returns once the condition holds for every runner.
func (e *Engine) waitUntil(ctx context.Context, holds func(*runner) bool) error {
	return e.idle.Wait(ctx, func() bool {
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
		if r.workflow.stoppedBy() != nil {
			return true
		}
		rest := r.quiet()
		if rest == nil {
			return false
		}
		if rest.Reason == decide.ReasonBackoff {
			s := r.workflow.state()
			return s.Backoff != nil && s.Backoff.Attention != 0
		}
		return rest.Reason.Meaning() != decide.GoesOn
	})
}
