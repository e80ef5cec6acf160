package worker

import (
	"context"
	"slices"
	"time"
)

// dispatch gives free slots to the calls that wait for them. The caller locks.
func (p *Pool) dispatch() {
	for p.scheduler.free > 0 && len(p.scheduler.lines) > 0 {
		now := time.Now()
		w := p.scheduler.pick(now, func(w *waiter) bool {
			return w.process || len(p.idle) > 0 || p.warming == 0 && p.mayStart()
		}, p.near)
		if w == nil {
			return
		}
		p.scheduler.assign(w, now)
		w.assigned <- p.idleProcess(w)
	}
}

// near reports whether a waiter has no reason to let others go first: it has a process, an idle process has its script,
// or no process has it.
func (p *Pool) near(w *waiter) bool {
	has := func(x *process) bool { return x.loaded.has(w.script) }
	return w.process || slices.ContainsFunc(p.idle, has) || !slices.ContainsFunc(p.all, has)
}

func (p *Pool) mayStart() bool { return len(p.all)+p.starting < p.config.MaxWorkers }

// idleProcess finds an idle process for a waiter that needs one. Of the processes that know the waiter's script it
// takes the one used last, because its data is still in the processor's caches. If none knows the script, it takes the
// one that has been idle longest. If none is idle, the waiter starts one.
func (p *Pool) idleProcess(w *waiter) assignment {
	if w.process {
		return assignment{}
	}
	if len(p.idle) == 0 {
		p.starting++
		return assignment{start: true}
	}
	i := len(p.idle) - 1
	for i > 0 && !p.idle[i].loaded.has(w.script) {
		i--
	}
	chosen := p.idle[i]
	p.idle = slices.Delete(p.idle, i, i+1)
	return assignment{process: chosen}
}

// acquire waits for a slot and, unless the caller has one, for a process.
func (p *Pool) acquire(ctx context.Context, key string, script uint64, hasProcess bool) (*process, error) {
	w := &waiter{key: key, script: script, process: hasProcess, since: time.Now(), assigned: make(chan assignment, 1)}
	p.mu.Lock()
	if p.shut {
		p.mu.Unlock()
		return nil, errPoolClosed
	}
	p.scheduler.join(w)
	p.dispatch()
	p.mu.Unlock()
	var g assignment
	select {
	case g = <-w.assigned:
	default:
		select {
		case g = <-w.assigned:
		case <-ctx.Done():
			return nil, p.leave(w, ctx.Err())
		case <-p.closed:
			return nil, p.leave(w, errPoolClosed)
		}
	}
	if !g.start {
		return g.process, nil
	}
	started, err := p.start()
	p.mu.Lock()
	p.starting--
	p.mu.Unlock()
	if err != nil {
		p.refund(w, nil)
		return nil, err
	}
	return started, nil
}

// leave gives up waiting; what was assigned at the same moment is given back.
func (p *Pool) leave(w *waiter, err error) error {
	p.mu.Lock()
	left := p.scheduler.leave(w)
	p.mu.Unlock()
	if !left {
		g := <-w.assigned
		if g.start {
			p.mu.Lock()
			p.starting--
			p.mu.Unlock()
		}
		p.refund(w, g.process)
	}
	return err
}

// refund gives back what was assigned and not used: a slot, and a process (which may be nil).
func (p *Pool) refund(w *waiter, process *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.scheduler.returnSlot(w.key, 0, now)
	if !w.process {
		p.scheduler.returnProcess(w.key, 0, now)
	}
	if process != nil {
		p.put(process, now)
	}
	p.dispatch()
}

// release gives a slot back with the time used of it.
func (p *Pool) release(key string, used time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.scheduler.returnSlot(key, used, time.Now())
	p.dispatch()
}

// finish gives back what an exchange has at its end: its process, unless that was discarded, and its
// slot if it holds one.
func (p *Pool) finish(c *exchange, alive, held bool, used, waited time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if held {
		p.scheduler.returnSlot(c.key, used, now)
	}
	p.scheduler.returnProcess(c.key, waited, now)
	if alive {
		p.put(c.w, now)
	}
	p.dispatch()
}
