package process

import (
	"context"
	"sync/atomic"
)

// maxIdle bounds the goroutines that wait for work: each keeps its stack. One append is the end of the work of many at
// once, which wait together until what follows from it begins.
const maxIdle = 64

// Goroutines run short work that comes often and goes deep. A goroutine that has done its work waits for the next one
// and keeps the stack it has grown: growing it anew cost one part in twenty of a busy engine's processor time.
type Goroutines struct {
	idle atomic.Int64
	work chan func()
}

// NewGoroutines has none yet.
func NewGoroutines() *Goroutines { return &Goroutines{work: make(chan func())} }

// Go runs f on a goroutine of its own. Goroutines that wait end with life.
func (g *Goroutines) Go(life context.Context, f func()) {
	select {
	case g.work <- f: // one waits
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
