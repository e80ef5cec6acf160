package enginetest

import (
	"sync"
	"time"
)

// JumpClock is a clock that jumps: a waiter for a time gets it at once, and the clock stands
// there. Waits longer than Horizon are never reached, so schedules do not run away.
type JumpClock struct {
	Horizon time.Duration

	mu  sync.Mutex
	now time.Time
}

// NewJumpClock starts at a fixed time.
func NewJumpClock(horizon time.Duration) *JumpClock {
	return &JumpClock{Horizon: horizon, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
}

// Now returns the clock's time; it moves a microsecond with every look.
func (c *JumpClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Microsecond)
	return c.now
}

// Advance moves the clock.
func (c *JumpClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// At jumps to t if it lies within the horizon.
func (c *JumpClock) At(t time.Time) (<-chan struct{}, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fired := make(chan struct{})
	if t.Sub(c.now) <= c.Horizon {
		if t.After(c.now) {
			c.now = t
		}
		close(fired)
	}
	return fired, func() {}
}
