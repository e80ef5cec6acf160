package clock

import (
	"slices"
	"sync"
	"time"
)

// Manual is a clock that a person or a test moves. Schedules, wakeAt, backoffs, reconcile
// waits and recorded deadlines follow it; the time limits of live calls and scripts do not.
type Manual struct {
	mu      sync.Mutex
	now     time.Time
	waiting []*wait
}

type wait struct {
	at    time.Time
	fired chan struct{}
}

// NewManual starts at the given time.
func NewManual(start time.Time) *Manual { return &Manual{now: start.UTC()} }

// Now returns the clock's time.
func (c *Manual) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Resume moves the clock to t if that is later: a log's time never runs back over restarts.
func (c *Manual) Resume(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.After(c.now) {
		c.now = t.UTC()
		c.fire()
	}
}

// At implements Clock.
func (c *Manual) At(t time.Time) (<-chan struct{}, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := &wait{at: t, fired: make(chan struct{})}
	if !t.After(c.now) {
		close(w.fired)
		return w.fired, func() {}
	}
	c.waiting = append(c.waiting, w)
	return w.fired, func() { c.giveUp(w) }
}

func (c *Manual) giveUp(w *wait) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = slices.DeleteFunc(c.waiting, func(other *wait) bool { return other == w })
}

// fire ends the waits whose time has come. Under mu.
func (c *Manual) fire() {
	c.waiting = slices.DeleteFunc(c.waiting, func(w *wait) bool {
		due := !w.at.After(c.now)
		if due {
			close(w.fired)
		}
		return due
	})
}

// Step moves the clock to the next moment that is waited for, at most to until. It reports whether there was one.
func (c *Manual) Step(until time.Time) bool {
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
