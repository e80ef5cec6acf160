package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm"
)

// exchange is one call, or one description, on one worker.
type exchange struct {
	pool   *Pool
	w      *process
	script *loadedScript
	caller context.Context
	key    string // of the workflow that the time is counted for
	serial uint64
	// ctx is the context of the reads, and ends with the exchange. It is made for the first read: most calls read nothing.
	ctx         context.Context
	cancelReads context.CancelFunc
	request

	mu sync.Mutex
	// running says that the worker owes a frame, holds a slot and its time is the script's.
	running  bool
	resuming bool
	over     bool
	since    time.Time     // when it was last started or stopped
	spent    time.Duration // of the script's time
	waited   time.Duration // for reads
	cpuBegan time.Duration // the process's processor time at the start, once cpuKnown is true
	cpuKnown bool
	timer    *time.Timer
	stopAt   time.Time // when a cancelled worker is killed
	stopFor  *sandbox.Error

	neverTaken bool // the worker ended, and nothing of the script has run
	recycle    bool // the worker is not to be used again: another takes its place

	answers  []vm.Reply // not sent yet
	sent     int
	reads    int
	inFlight int
	causes   map[int]error // of reads that failed

	// prepared is the result of prepare, once the worker has told that it runs the mutate after it.
	prepared *sandbox.Result
}

// run runs an exchange to its end on a worker that has a slot, and gives both back.
func (c *exchange) run(ref scriptRef) *sandbox.Error {
	defer func() {
		if c.cancelReads != nil {
			c.cancelReads()
		}
	}()
	c.mu.Lock() // the timer may fire at once
	c.running, c.since = true, time.Now()
	c.timer = time.AfterFunc(superviseEvery, c.supervise)
	c.mu.Unlock()

	fault := c.serveUntilResult(ref)

	c.mu.Lock()
	c.over = true
	c.timer.Stop()
	held := c.running
	if !held && !c.resuming {
		c.waited += time.Since(c.since)
	}
	used, waited := c.pause(), c.waited
	c.mu.Unlock()
	if c.neverTaken {
		used = 0 // not the workflow's doing
	}
	fault = c.withKill(fault)
	switch {
	case fault != nil:
		c.pool.discard(c.w, fault.Code)
	case c.recycle:
		c.pool.config.Logger.Warn("a worker process could not give back the memory that a call has used; another takes "+
			"its place", "workflow", c.key, "pid", c.w.Cmd.Process.Pid)
		c.w.calls.Add(1)
		c.pool.discard(c.w, "limit.memory")
	default:
		c.w.calls.Add(1)
	}
	c.pool.finish(c, fault == nil && !c.recycle, held, c.charge(used), waited)
	return fault
}

// charge is the time that the call costs its workflow. One that leaves too much memory behind costs the start of the
// next process too: enough that the workflow does not count as quick, and too little to make it heavy by one such call,
// since a start takes long on a busy machine.
func (c *exchange) charge(used time.Duration) time.Duration {
	if c.recycle {
		used += min(max(c.w.starting, 2*short), heavyFrom/2)
	}
	return used
}

func (c *exchange) cancelMessage() string {
	if c.call == nil {
		return sandbox.DescribeCancelled
	}
	return sandbox.CallCancelled
}

// serveUntilResult sends the request and serves the worker until its result. A fault is that of a worker
// which is not to be used again.
func (c *exchange) serveUntilResult(ref scriptRef) *sandbox.Error {
	// A worker that died cannot be written to; why it died is found by reading on.
	unwritten := c.w.write(func(k *packer) { c.pack(k, c.serial, ref) })
	for heard := false; ; heard = true {
		kind, err := c.w.frames.next(c.maxFrame)
		if err != nil {
			fault := c.broken(err)
			if !heard {
				fault = c.notTaken(unwritten, fault)
			}
			return fault
		}
		u := &c.w.frames.unpacker
		switch kind {
		case frameRead:
			r := unpackRead(u)
			if err := errors.Join(u.done(), c.checkSerial(r.serial), c.mayRead(r)); err != nil {
				return c.broken(err)
			}
			if c.ctx == nil {
				c.ctx, c.cancelReads = context.WithCancel(c.caller)
			}
			go c.serve(r)
		case framePlace:
			serial, at := unpackPlace(u)
			if err := u.done(); err != nil {
				return c.broken(err)
			}
			if serial != c.serial || c.call == nil {
				return c.broken(fmt.Errorf("%w: the place of a handler that was not called", errMalformed))
			}
			c.script.places[c.call.Key()] = at
		case framePrepared:
			if err := c.notePrepared(u); err != nil {
				return c.broken(err)
			}
		case frameRecycle:
			serial := uint64(u.num())
			if err := errors.Join(u.done(), c.checkSerial(serial)); err != nil {
				return c.broken(err)
			}
			c.recycle = true
		case frameWaiting:
			serial, answers := uint64(u.num()), int(u.num())
			if err := errors.Join(u.done(), c.checkSerial(serial)); err != nil {
				return c.broken(err)
			}
			if err := c.workerWaits(answers); err != nil {
				return c.broken(err)
			}
		case c.answer:
			serial, err := c.read(u)
			if err := errors.Join(err, c.checkSerial(serial), c.w.silent()); err != nil {
				return c.broken(err)
			}
			return nil
		default:
			return c.broken(fmt.Errorf("%w: kind %d", errMalformed, kind))
		}
	}
}

// checkSerial refuses what belongs to another call: a worker serves one at a time.
func (c *exchange) checkSerial(serial uint64) error {
	if serial != c.serial {
		return fmt.Errorf("%w: an answer to another call", errMalformed)
	}
	return nil
}

// pause stops the script's time and tells how long it ran since it was started. The caller locks.
func (c *exchange) pause() (stretch time.Duration) {
	if c.running {
		now := time.Now()
		stretch = now.Sub(c.since)
		c.running, c.spent, c.since = false, c.spent+stretch, now
	}
	return stretch
}

// tellCancelled asks the worker to stop. One that cannot be told is killed soon.
func (c *exchange) tellCancelled() {
	_ = c.w.write(func(p *packer) {
		if c.ended() {
			return
		}
		start := p.begin(frameCancel)
		p.num(int64(c.serial))
		p.end(start)
	})
}

// ended reports whether the exchange is over. Asked under the lock of writing, it keeps a late frame from being written
// behind the next request, where it would look like a part of that request that was not read.
func (c *exchange) ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}
