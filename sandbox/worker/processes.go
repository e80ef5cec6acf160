package worker

import (
	"fmt"
	"runtime"
	"slices"
	"time"
)

// spawner starts processes, all from one thread: they die with it, and it ends with the pool.
func (p *Pool) spawner() {
	runtime.LockOSThread()
	relaxTimers()
	for {
		select {
		case spawn := <-p.spawns:
			spawn()
		case <-p.closed:
			return
		}
	}
}

// start starts one worker, greets it and books it as one of the pool's.
func (p *Pool) start() (*process, error) {
	begun := time.Now()
	cmd := p.config.Command()
	cmd.SysProcAttr = attributes()
	var started *process
	var err error
	done := make(chan struct{})
	spawn := func() {
		defer close(done)
		started, err = startProcess(cmd)
	}
	select {
	case p.spawns <- spawn:
		<-done
	case <-p.closed:
		return nil, errPoolClosed
	}
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	shut := p.shut
	if !shut {
		p.all = append(p.all, started)
		p.ending.Add(1) // under the lock: Close waits only once nothing is added any more
	}
	p.mu.Unlock()
	if shut {
		started.End()
		return nil, errPoolClosed
	}
	go func() {
		<-started.Exited
		p.processEnded(started)
		p.ending.Done()
	}()
	if err := started.handshake(hello{version: frameVersion, memory: p.config.Memory, scripts: maxLoaded,
		describe: p.limits}); err != nil {
		return nil, err
	}
	if r := started.ready.report; p.config.Require != "" && !r.Level.AtLeast(p.config.Require) {
		started.End()
		return nil, fmt.Errorf("the sandbox of worker processes is %s, and %s is required", r, p.config.Require)
	}
	started.starting = time.Since(begun)
	return started, nil
}

// processEnded takes a process that ended out of the pool, and replaces it if it did so while idle.
func (p *Pool) processEnded(w *process) {
	if !w.retire() {
		return
	}
	p.mu.Lock()
	wasIdle := slices.Contains(p.idle, w)
	p.idle = slices.DeleteFunc(p.idle, func(x *process) bool { return x == w })
	p.all = slices.DeleteFunc(p.all, func(x *process) bool { return x == w })
	shut := p.shut
	if wasIdle && !shut && w.killedFor() == nil {
		p.restarts++
		p.config.Logger.Warn("an idle worker process ended; another takes its place", "pid", w.Cmd.Process.Pid, "ended",
			w.Cmd.ProcessState.String())
	}
	p.dispatch() // a call that waits for a process may start one in its place
	p.mu.Unlock()
	if wasIdle {
		w.End()
	}
	if !shut {
		p.warm()
	}
}

// warm starts workers until so many are ready as may compute at once.
func (p *Pool) warm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.shut && len(p.all)+p.starting < p.config.Size {
		p.starting++
		p.warming++
		go func() {
			w, err := p.start()
			p.mu.Lock()
			p.starting--
			p.warming--
			if err == nil {
				p.idle = append(p.idle, w)
			} else if !p.shut {
				p.config.Logger.Error("a worker process for scripts could not be started; the next call tries again",
					"error", err)
			}
			p.dispatch()
			p.mu.Unlock()
		}()
	}
}

// put gives a process back. The caller locks.
func (p *Pool) put(w *process, now time.Time) {
	delete(p.busy, w)
	if p.shut || !w.alive() || !slices.Contains(p.all, w) {
		go w.End()
		return
	}
	w.used = now
	p.idle = append(p.idle, w)
	if len(p.all) > p.config.Size && !p.reaping {
		p.reaping = true
		time.AfterFunc(keepIdle, p.reap)
	}
}

// keepIdle is how long a worker beyond the pool's size stays without work.
const keepIdle = 30 * time.Second

// reap ends workers that were only needed for a while.
func (p *Pool) reap() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reaping = false
	extra := len(p.all) - p.config.Size
	for extra > 0 && len(p.idle) > 0 && time.Since(p.idle[0].used) >= keepIdle {
		w := p.idle[0]
		p.idle = p.idle[1:]
		p.all = slices.DeleteFunc(p.all, func(x *process) bool { return x == w })
		w.retire()
		go w.End()
		extra--
	}
	if extra > 0 && !p.shut {
		p.reaping = true
		time.AfterFunc(keepIdle, p.reap)
	}
}

// discard ends a process that must not be used again and starts another in its place.
func (p *Pool) discard(w *process, code string) {
	w.retire()
	w.Kill()
	go w.End() // the call that is over does not wait for a process that is slow to go
	p.mu.Lock()
	delete(p.busy, w)
	p.all = slices.DeleteFunc(p.all, func(x *process) bool { return x == w })
	if !p.shut {
		p.restarts++
		p.deaths[code]++
	}
	p.mu.Unlock()
	p.warm()
}
