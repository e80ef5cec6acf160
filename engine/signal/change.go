package signal

import (
	"context"
	"sync"
)

// Change lets callers wait until a condition holds that something else brings about. The zero value is ready for use.
type Change struct {
	mu      sync.Mutex
	changed chan struct{} // closed by the next Notify while there is a waiter
}

// Notify has the waiters look at their conditions again.
func (c *Change) Notify() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// Wait returns once the condition holds, or with ctx's error when ctx ends.
func (c *Change) Wait(ctx context.Context, holds func() bool) error {
	for {
		c.mu.Lock()
		if c.changed == nil {
			c.changed = make(chan struct{})
		}
		changed := c.changed
		c.mu.Unlock()
		if holds() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
