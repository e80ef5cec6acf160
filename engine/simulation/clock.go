package simulation

import (
	"slices"
	"sync"
	"time"
)

// clock is the time that all engines see. Only the driver moves it.
type clock struct {
	mu      sync.Mutex
	now     time.Time
	waiting []*wait
}

type wait struct {
	node  *node
	at    time.Time
	fired chan struct{}
}

func newClock() *clock { return &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

// Now returns the clock's time.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// to moves the clock forward and wakes those that waited for a time that has come. It reports
// whether there were any.
func (c *clock) to(t time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.After(c.now) {
		c.now = t
	}
	before := len(c.waiting)
	c.waiting = slices.DeleteFunc(c.waiting, func(w *wait) bool {
		due := !w.at.After(c.now)
		if due {
			close(w.fired)
		}
		return due
	})
	return len(c.waiting) < before
}

// next is the soonest time that one of those nodes waits for; zero when none does.
func (c *clock) next(of func(*node) bool) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	var soonest time.Time
	for _, w := range c.waiting {
		if of(w.node) && (soonest.IsZero() || w.at.Before(soonest)) {
			soonest = w.at
		}
	}
	return soonest
}

// nodeClock is the clock as one engine sees it.
type nodeClock struct {
	*clock
	node *node
}

// At implements clock.Clock.
func (c nodeClock) At(t time.Time) (<-chan struct{}, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := &wait{node: c.node, at: t, fired: make(chan struct{})}
	if !t.After(c.now) {
		close(w.fired)
		return w.fired, func() {}
	}
	c.waiting = append(c.waiting, w)
	return w.fired, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.waiting = slices.DeleteFunc(c.waiting, func(other *wait) bool { return other == w })
	}
}
