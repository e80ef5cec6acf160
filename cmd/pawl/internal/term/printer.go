package term

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// maxWaiting bounds the lines that wait for a slow reader of the output.
const maxWaiting = 10_000

// Printer writes lines from a goroutine of its own: the engine must not wait for a terminal that a
// person has stopped.
type Printer struct {
	to io.Writer

	mu      sync.Mutex
	waiting []string
	dropped int
	closed  bool
	queued  int // lines ever queued
	written int // lines ever written
	moved   *sync.Cond
	wake    chan struct{}
	done    chan struct{}
}

// NewPrinter starts the goroutine that writes to to; Close ends it.
func NewPrinter(to io.Writer) *Printer {
	p := &Printer{to: to, wake: make(chan struct{}, 1), done: make(chan struct{})}
	p.moved = sync.NewCond(&p.mu)
	go p.write()
	return p
}

// Print queues lines. It never blocks; lines for which the reader is too slow are counted and left out.
func (p *Printer) Print(lines ...string) {
	p.mu.Lock()
	for _, line := range lines {
		if len(p.waiting) == maxWaiting {
			p.dropped++
			continue
		}
		p.waiting = append(p.waiting, line)
		p.queued++
	}
	p.mu.Unlock()
	p.nudge()
}

// Write queues whole lines.
func (p *Printer) Write(text []byte) (int, error) {
	p.Print(strings.TrimSuffix(string(text), "\n"))
	return len(text), nil
}

func (p *Printer) nudge() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Flush waits until what was queued before has been written.
func (p *Printer) Flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for upTo := p.queued; p.written < upTo; {
		p.moved.Wait()
	}
}

// Close writes what is queued and ends the goroutine.
func (p *Printer) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.nudge()
	<-p.done
}

func (p *Printer) write() {
	defer close(p.done)
	for range p.wake {
		p.mu.Lock()
		lines, dropped, closed := p.waiting, p.dropped, p.closed
		p.waiting, p.dropped = nil, 0
		p.mu.Unlock()
		for _, line := range lines {
			// The reader may be gone; the engine goes on.
			_, _ = fmt.Fprintln(p.to, line)
		}
		if dropped > 0 {
			_, _ = fmt.Fprintf(p.to, "(%d lines left out: the output was too slow)\n", dropped)
		}
		p.mu.Lock()
		p.written += len(lines)
		p.mu.Unlock()
		p.moved.Broadcast()
		if closed {
			return
		}
	}
}
