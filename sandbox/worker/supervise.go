package worker

import (
	"fmt"
	"time"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/cputime"
)

// Bounds that the engine keeps from outside, whatever the worker does about its own.
const (
	// killAfter is how long a worker may be late: it interrupts its script at the limit itself,
	// unless one native function holds it.
	killAfter = 250 * time.Millisecond
	// superviseEvery is how often a worker is looked at while its call lasts.
	superviseEvery = 10 * time.Millisecond
	// maxWorkerThreads is a multiple of what the Go runtime of a worker starts. What has broken out of the interpreter
	// could start as many as the machine has room for.
	maxWorkerThreads = 64
	// raceFactor is how much more memory the race detector takes.
	raceFactor = 8
)

// supervise looks at the worker from outside and ends it when it is too late or too large. It also sees that the caller
// has given up: a function of its own for that would cost each call more, and most calls end before the first look.
func (c *exchange) supervise() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	now := time.Now()
	if c.stopFor == nil && c.caller.Err() != nil {
		c.stopFor, c.stopAt = sandbox.Cancelled(c.caller, c.cancelMessage()), now.Add(killAfter)
		go c.tellCancelled() // not here: it locks mu, and it waits while the pipe is full
	}
	// A process that is gone is judged by how it ended. Its processor time cannot be read any more, and where the
	// engine was stopped for a while, more time has passed than the process had. Whether it is gone is asked after the
	// clocks were read: a process that still lives then has had all the time that was counted.
	if e := c.excess(now); e != nil && !c.w.gone() {
		c.w.kill(e)
		return
	}
	c.timer.Reset(superviseEvery)
}

func (c *exchange) excess(now time.Time) *sandbox.Error {
	if c.stopFor != nil && now.After(c.stopAt) {
		return c.stopFor
	}
	wall := c.spent
	if c.running {
		wall += now.Sub(c.since)
	}
	computed := wall
	if cpu, ok := cputime.Of(c.w.Cmd.Process.Pid); ok {
		// Most calls end before they are looked at, and need not pay for a reading at their start. Of the time before
		// the first look at most superviseEvery counts as processor time.
		if !c.cpuKnown {
			c.cpuBegan, c.cpuKnown = cpu-min(wall, superviseEvery), true
		}
		computed = cpu - c.cpuBegan
	}
	if !c.running {
		return nil
	}
	limit := c.pool.config.Memory
	if c.w.ready.race {
		limit *= raceFactor
	}
	if held, ok := memoryOf(c.w.Cmd.Process.Pid); ok && held > limit {
		return tooMuchMemory(c.pool.config.Memory)
	}
	if n := threadsOf(c.w.Cmd.Process.Pid); n > maxWorkerThreads {
		return malformed(fmt.Errorf("it has started %d threads", n))
	}
	// Both times have to be over by the while: on a busy machine a script's processor time runs out
	// long after the same time has passed, and a worker killed at that moment could not say on which
	// line its script was.
	return c.limits.Exceeded(wall, computed, killAfter)
}
