package engine

import "sync"

// openCalls counts the calls that have left and whose settlement is not recorded. An engine waits for
// them when it ends, and lets none begin after that.
type openCalls struct {
	mu    sync.Mutex
	open  int
	ended bool
	none  chan struct{} // closed when the last one is done; nil while nobody waits
}

// begin counts one more; false says that the engine has ended and nothing may leave.
func (c *openCalls) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return false
	}
	c.open++
	return true
}

func (c *openCalls) done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open--; c.open == 0 && c.none != nil {
		close(c.none)
		c.none = nil
	}
}

// end waits until none is open. One that begins meanwhile is waited for as well.
func (c *openCalls) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.open > 0 {
		if c.none == nil {
			c.none = make(chan struct{})
		}
		none := c.none
		c.mu.Unlock()
		<-none
		c.mu.Lock()
	}
	c.ended = true
}
