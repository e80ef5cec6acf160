package vm

import (
	"sync"
	"time"

	"github.com/pawl-run/pawl/sandbox"
)

// scriptClock counts the time in which script code runs and stands while reads are waited for. When
// a budget is empty it ends the script.
type scriptClock struct {
	limits sandbox.Limits
	// cpu is the processor time of the process or thread, nil where it is not known. With it
	// a script is charged for what it computed, not for the time a busy machine took over it.
	cpu   func() time.Duration
	began time.Duration // cpu at the start, once read is true
	read  bool
	stops func(*sandbox.Error)

	mu      sync.Mutex
	timer   *time.Timer
	running bool
	since   time.Time     // when it was last started
	spent   time.Duration // in earlier stretches
}

func newScriptClock(limits sandbox.Limits, cpu func() time.Duration, stops func(*sandbox.Error)) *scriptClock {
	return &scriptClock{limits: limits, cpu: cpu, read: cpu == nil, stops: stops}
}

// unread is how long a script may run before its processor time is read for the first time. The reading is a system
// call, and most calls end before it. Until then the time that passes counts as processor time, but never more than
// this: on a busy machine a script is ended at most a hundredth of its limit too early.
func (c *scriptClock) unread() time.Duration { return c.limits.CPU / 100 }

// left is how long the clock may run until something is to be done: the first reading, or the end of the script.
func (c *scriptClock) left() time.Duration {
	until := min(c.limits.CPU, c.limits.Wall)
	if !c.read {
		until = min(until, c.unread())
	}
	return max(until-c.spent, 0)
}

// first reads the processor time for the first time. The script has run for wall.
func (c *scriptClock) first(wall time.Duration) {
	if !c.read {
		c.began, c.read = c.cpu()-min(wall, c.unread()), true
	}
}

// run starts a stretch of script code and arms its deadline.
func (c *scriptClock) run() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running, c.since = true, time.Now()
	if c.spent >= c.unread() {
		c.first(c.spent) // the timer may never do it, since a short stretch ends before it fires
	}
	if c.timer == nil {
		c.timer = time.AfterFunc(c.left(), c.expire)
		return
	}
	c.timer.Reset(c.left())
}

// pause ends the stretch.
func (c *scriptClock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running {
		c.timer.Stop()
		c.running = false
		c.spent += time.Since(c.since)
	}
}

// stop ends the clock; a deadline that fires now finds it paused.
func (c *scriptClock) stop() { c.pause() }

// leastRest keeps a clock that waits for processor time from firing all the time.
const leastRest = time.Millisecond

// expire ends the script, or waits on if the machine was busy with something else.
func (c *scriptClock) expire() {
	c.mu.Lock()
	var fault *sandbox.Error
	if c.running {
		wall := c.spent + time.Since(c.since)
		c.first(wall)
		fault = c.limits.Exceeded(wall, c.computed(wall), 0)
		if fault == nil {
			rest := min(c.limits.Wall-wall, c.limits.CPU-c.computed(wall))
			c.timer.Reset(max(rest, leastRest))
		}
	}
	c.mu.Unlock()
	if fault != nil {
		c.stops(fault)
	}
}

// computed is the processor time used, as far as it is known.
func (c *scriptClock) computed(wall time.Duration) time.Duration {
	if c.cpu == nil {
		return wall
	}
	return c.cpu() - c.began
}
