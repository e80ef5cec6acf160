package process

import (
	"context"
	"sync/atomic"
)

// maxIdle bounds the goroutines that wait for work: each keeps its stack. The end of one append ends the work of many
// goroutines at once, which then wait together until what follows from it begins.
const maxIdle = 64

// Goroutines run work that comes often and needs a deep stack. A goroutine that has done its work waits for the next
// and keeps the stack that it has grown: growing it anew cost one part in twenty of a busy engine's processor time.
type Goroutines struct {
	idle atomic.Int64
	work chan func()
}

// NewGoroutines starts none: they begin with work.
func NewGoroutines() *Goroutines { return &Goroutines{work: make(chan func())} }

// Go runs f on a goroutine of its own. Goroutines that wait end with life.
func (g *Goroutines) Go(life context.Context, f func()) {
	select {
	case g.work <- f: // a goroutine waits
	default:
		go g.serve(life, f)
	}
}

func (g *Goroutines) serve(life context.Context, f func()) {
	for {
		f()
		f = nil
		if g.idle.Add(1) > maxIdle {
			g.idle.Add(-1)
			return
		}
		select {
		case f = <-g.work:
		case <-life.Done():
		}
		g.idle.Add(-1)
		if f == nil {
			return
		}
	}
}
