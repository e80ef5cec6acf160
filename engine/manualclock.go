package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/engine/decide"
)

// ManualClock is a clock that a person or a test moves. Schedules, wakeAt, backoffs, reconcile
// waits and recorded deadlines follow it; the time limits of live calls and scripts do not.
type ManualClock struct {
	mu      sync.Mutex
	now     time.Time
	waiting []*manualWait
}

type manualWait struct {
	at    time.Time
	fired chan struct{}
}

// NewManualClock starts at the given time.
func NewManualClock(start time.Time) *ManualClock { return &ManualClock{now: start.UTC()} }

// Now returns the clock's time.
func (c *ManualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Resume moves the clock to t if that is later: a log's time never runs back over restarts.
func (c *ManualClock) Resume(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.After(c.now) {
		c.now = t.UTC()
		c.fire()
	}
}

// At implements Clock.
func (c *ManualClock) At(t time.Time) (<-chan struct{}, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := &manualWait{at: t, fired: make(chan struct{})}
	if !t.After(c.now) {
		close(w.fired)
		return w.fired, func() {}
	}
	c.waiting = append(c.waiting, w)
	return w.fired, func() { c.giveUp(w) }
}

func (c *ManualClock) giveUp(w *manualWait) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = slices.DeleteFunc(c.waiting, func(other *manualWait) bool { return other == w })
}

// fire wakes whoever waited for a time that has come. Under mu.
func (c *ManualClock) fire() {
	c.waiting = slices.DeleteFunc(c.waiting, func(w *manualWait) bool {
		due := !w.at.After(c.now)
		if due {
			close(w.fired)
		}
		return due
	})
}

// step moves the clock to the next moment that someone waits for, at most to until. It reports
// whether there was one.
func (c *ManualClock) step(until time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := until
	found := false
	for _, w := range c.waiting {
		if !w.at.After(next) {
			next, found = w.at, true
		}
	}
	if next.After(c.now) {
		c.now = next
	}
	c.fire()
	return found
}

// Manual reports whether the engine follows a clock that stands still until it is advanced.
func (e *Engine) Manual() bool {
	_, ok := e.cfg.Clock.(*ManualClock)
	return ok
}

// Advance moves a manual clock, stopping at each due moment in order and letting everything there
// come to rest. It returns the new time once nothing is active or due. By zero it only waits.
func (e *Engine) Advance(ctx context.Context, by time.Duration) (time.Time, error) {
	clock, ok := e.cfg.Clock.(*ManualClock)
	if !ok {
		return time.Time{}, &decide.Refusal{
			Kind: decide.Conflict, Code: "clock.system", Message: "this engine follows the machine's clock, which nobody can advance",
			Hint: "start it with --clock=manual",
		}
	}
	if err := e.available(ctx); err != nil {
		return time.Time{}, err
	}
	e.advancing.Lock()
	defer e.advancing.Unlock()
	until := clock.Now().Add(by)
	for {
		if err := e.settled(ctx); err != nil {
			return clock.Now(), fmt.Errorf("%w: the engine does not come to rest: %w", ErrUnavailable, err)
		}
		if !clock.step(until) {
			return clock.Now(), nil
		}
	}
}

// settled returns once no runner has anything to do at the clock's time.
func (e *Engine) settled(ctx context.Context) error {
	return e.idle.wait(ctx, e, func(r *runner) bool {
		if r.workflow.stoppedBy() != nil {
			return true
		}
		rest := r.quiet()
		return rest != nil && rest.Reason != reasonCall && rest.Reason != decide.ReasonStorage && (rest.Until == 0 || rest.Until.Time().After(e.cfg.Clock.Now()))
	})
}
