package process

import (
	"context"
	"slices"
	"sync"
)

// maxIdle bounds the goroutines that wait for work: each keeps its stack. The end of one append ends the work of many
// goroutines at once, which then wait together until what follows from it begins.
const maxIdle = 256

// Goroutines run work that comes often and needs a deep stack. A goroutine that has done its work waits for the next
// and keeps the stack that it has grown: growing it anew cost one part in twenty of a busy engine's processor time.
type Goroutines struct {
	mu sync.Mutex
	// idle holds the channels of the goroutines that wait. The last one is the next to work: its stack is still in the
	// processor's caches, and the stacks that a quiet engine does not need stay unused.
	idle []chan func()
}

// NewGoroutines starts none: they begin with work.
func NewGoroutines() *Goroutines { return new(Goroutines) }

// Go runs f on a goroutine of its own. Goroutines that wait end with life.
func (g *Goroutines) Go(life context.Context, f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if last := len(g.idle) - 1; last >= 0 {
		g.idle[last] <- f // it has room: a goroutine that waits was given nothing
		g.idle = g.idle[:last]
		return
	}
	go g.serve(life, f)
}

func (g *Goroutines) serve(life context.Context, f func()) {
	work := make(chan func(), 1)
	for f != nil {
		f()
		if !g.wait(work) {
			return
		}
		select {
		case f = <-work:
		case <-life.Done():
			f = g.leave(work)
		}
	}
}

// wait makes a goroutine one of those that wait, unless there are enough.
func (g *Goroutines) wait(work chan func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.idle) >= maxIdle {
		return false
	}
	g.idle = append(g.idle, work)
	return true
}

// leave takes a goroutine out of those that wait. It returns the work that the goroutine was given before, or nil.
func (g *Goroutines) leave(work chan func()) func() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.idle, work); i >= 0 {
		g.idle = slices.Delete(g.idle, i, i+1)
		return nil
	}
	return <-work
}
