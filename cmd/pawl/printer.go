package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// mostWaiting bounds the lines that wait for a slow reader of the output.
const mostWaiting = 10_000

// printer writes lines from a goroutine of its own: the engine must not wait for a terminal that
// somebody has stopped.
type printer struct {
	to io.Writer

	mu      sync.Mutex
	waiting []string
	dropped int
	closed  bool
	queued  int // lines ever taken
	written int // lines ever written
	moved   *sync.Cond
	wake    chan struct{}
	done    chan struct{}
}

func newPrinter(to io.Writer) *printer {
	p := &printer{to: to, wake: make(chan struct{}, 1), done: make(chan struct{})}
	p.moved = sync.NewCond(&p.mu)
	go p.write()
	return p
}

// print queues lines. It never blocks; what a reader is too slow for is counted and left out.
func (p *printer) print(lines ...string) {
	p.mu.Lock()
	for _, line := range lines {
		if len(p.waiting) == mostWaiting {
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
func (p *printer) Write(text []byte) (int, error) {
	p.print(strings.TrimSuffix(string(text), "\n"))
	return len(text), nil
}

func (p *printer) nudge() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// flush waits until what was queued before has been written.
func (p *printer) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for upTo := p.queued; p.written < upTo; {
		p.moved.Wait()
	}
}

// close writes what is queued and ends the goroutine.
func (p *printer) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.nudge()
	<-p.done
}

func (p *printer) write() {
	defer close(p.done)
	for range p.wake {
		p.mu.Lock()
		lines, dropped, closed := p.waiting, p.dropped, p.closed
		p.waiting, p.dropped = nil, 0
		p.mu.Unlock()
		for _, line := range lines {
			// Nobody may be reading any more; the engine goes on.
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
