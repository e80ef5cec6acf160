package engine

import (
	"context"
	"sync"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
)

// idleness lets callers wait until the runners have come to rest.
type idleness struct {
	mu      sync.Mutex
	changed chan struct{} // closed when a runner comes to rest, or a recording ends, while someone waits
}

func (i *idleness) rested() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.changed != nil {
		close(i.changed)
		i.changed = nil
	}
}

func (i *idleness) wait(ctx context.Context, e *Engine, at func(*runner) bool) error {
	for {
		i.mu.Lock()
		if i.changed == nil {
			i.changed = make(chan struct{})
		}
		changed := i.changed
		i.mu.Unlock()
		resting := true
		for r := range e.runners() {
			if !at(r) {
				resting = false
				break
			}
		}
		if resting {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
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
	return e.idle.wait(ctx, e, func(r *runner) bool {
		if r.workflow.stoppedBy() != nil {
			return true
		}
		rest := r.quiet()
		if rest == nil {
			return false
		}
		switch rest.Reason {
		case decide.ReasonBackoff:
			s := r.workflow.state()
			return s.Backoff != nil && s.Backoff.Attention != 0
		case decide.ReasonReconcile, decide.ReasonStorage, reasonCall:
			return false
		}
		return true
	})
}

// noActiveRun is the drain's condition: no handler runs, no call of ours is open.
func noActiveRun(r *runner) bool {
	if r.workflow.stoppedBy() != nil {
		return true
	}
	run := r.workflow.state().CurrentRun()
	return run == nil || run.Status != eventlog.RunActive || r.resting() != nil && run.Engine != r.engine.name
}
