package signal

import "sync/atomic"

// Bell wakes one goroutine. Rings that come while it works are one: it looks at all there is.
type Bell struct {
	rings atomic.Uint64
	rung  chan struct{}
}

// NewBell returns a bell that has not rung.
func NewBell() Bell { return Bell{rung: make(chan struct{}, 1)} }

// Ring wakes the goroutine that waits, or the next one that will.
func (b *Bell) Ring() {
	b.rings.Add(1)
	select {
	case b.rung <- struct{}{}:
	default:
	}
}

// Rings is how often it has rung.
func (b *Bell) Rings() uint64 { return b.rings.Load() }

// Rung receives once for the rings since the last receive.
func (b *Bell) Rung() <-chan struct{} { return b.rung }
