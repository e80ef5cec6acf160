package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// Bounds that the engine keeps from outside, whatever the worker does about its own.
const (
	// killAfter is how long a worker may be late: it interrupts its script at the limit itself,
	// unless one native function holds it.
	killAfter = 250 * time.Millisecond
	// superviseEvery is how often a worker is looked at while its call lasts.
	superviseEvery = 10 * time.Millisecond
	// raceFactor is how much more memory the race detector takes.
	raceFactor = 8
)

// conversation is one call, or one description, on one worker.
type conversation struct {
	pool   *Pool
	w      *process
	key    string // who pays for the time
	serial uint64
	limits Limits
	call   *Invocation // nil for a description
	host   Host
	ctx    context.Context // of the reads; ends with the conversation

	mu sync.Mutex
	// running says that the worker owes a frame, holds a slot and its time is the script's.
	running  bool
	resuming bool
	over     bool
	since    time.Time
	spent    time.Duration
	cpuBegan time.Duration
	cpuKnown bool
	timer    *time.Timer
	stopAt   time.Time // when a cancelled worker is killed
	stopFor  *Error

	answers  []reply // not sent yet
	sent     int
	reads    int
	inFlight int
	causes   map[int]error // of reads that failed
}

// converse runs a conversation to its end on a worker that has a slot, and gives both back. request
// packs the first frame; the result's frame is handed to read.
func (c *conversation) converse(ctx context.Context, request func(*packer), want frameKind, maxFrame int, read func(*unpacker) (uint64, error)) *Error {
	var cancelReads context.CancelFunc
	c.ctx, cancelReads = context.WithCancel(ctx)
	defer cancelReads()
	c.mu.Lock() // the timer may fire at once
	c.running, c.since = true, time.Now()
	c.timer = time.AfterFunc(superviseEvery, c.supervise)
	c.mu.Unlock()
	unwatch := context.AfterFunc(ctx, func() { c.cancel(cancelled(ctx, c.cancelMessage())) })

	fault := c.exchange(request, want, maxFrame, read)

	unwatch()
	c.mu.Lock()
	c.over = true
	c.timer.Stop()
	held := c.running
	c.pause()
	used := c.spent
	c.mu.Unlock()
	if fault != nil {
		c.pool.discard(c.w, fault.Code)
		if held {
			c.pool.release(c.key, used, nil)
		}
		return fault
	}
	c.w.calls.Add(1)
	if held {
		c.pool.release(c.key, used, c.w)
	} else {
		c.pool.giveBack(c.w)
	}
	return nil
}

func (c *conversation) cancelMessage() string {
	if c.call == nil {
		return describeCancelled
	}
	return callCancelled
}

// exchange sends the request and serves the worker until its result. A fault is that of a worker
// which is not to be used again.
func (c *conversation) exchange(request func(*packer), want frameKind, maxFrame int, read func(*unpacker) (uint64, error)) *Error {
	// A worker that died cannot be written to; why it died is found by reading on.
	_ = c.w.write(request)
	for {
		kind, err := c.w.frames.next(maxFrame)
		if err != nil {
			return c.broken(err)
		}
		u := &c.w.frames.unpacker
		switch kind {
		case frameRead:
			r := unpackRead(u)
			if err := errors.Join(u.done(), c.mayRead(r)); err != nil {
				return c.broken(err)
			}
			if r.serial == c.serial {
				go c.read(r)
			}
		case frameWaiting:
			serial, answers := uint64(u.num()), int(u.num())
			if err := u.done(); err != nil {
				return c.broken(err)
			}
			if serial == c.serial {
				c.parked(answers)
			}
		case want:
			serial, err := read(u)
			if err == nil && serial != c.serial {
				err = fmt.Errorf("%w: an answer to another call", errMalformed)
			}
			if err != nil {
				return c.broken(err)
			}
			return nil
		default:
			return c.broken(fmt.Errorf("%w: kind %d", errMalformed, kind))
		}
	}
}

// broken ends the worker and says why the conversation cannot go on.
func (c *conversation) broken(err error) *Error {
	if errors.Is(err, errMalformed) {
		c.w.kill(malformed(err))
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		c.w.kill(&Error{Fault: FaultInternal, Code: "internal", Message: "read from the worker process: " + err.Error()})
	}
	select {
	case <-c.w.exited:
	case <-time.After(killAfter):
		c.w.kill(malformed(errors.New("it closed its pipe and went on")))
	}
	c.w.end()
	return deathOf(c.w, c.pool.config.Memory)
}

// pause stops the clock. The caller locks.
func (c *conversation) pause() {
	if c.running {
		c.running = false
		c.spent += time.Since(c.since)
	}
}

// supervise looks at the worker from outside and ends it when it is too late or too large.
func (c *conversation) supervise() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	if e := c.excess(time.Now()); e != nil {
		c.w.kill(e)
		return
	}
	c.timer.Reset(superviseEvery)
}

func (c *conversation) excess(now time.Time) *Error {
	if c.stopFor != nil && now.After(c.stopAt) {
		return c.stopFor
	}
	if !c.running {
		return nil
	}
	limit := c.pool.config.Memory
	if c.w.ready.race {
		limit *= raceFactor
	}
	if held, ok := memoryOf(c.w.cmd.Process.Pid); ok && held > limit {
		return tooMuchMemory(c.pool.config.Memory)
	}
	// The worker's processor time, so that a script is not blamed for a machine that was busy.
	wall := c.spent + now.Sub(c.since)
	cpu, ok := cpuOf(c.w.cmd.Process.Pid)
	if !ok {
		return c.limits.overdue(wall, wall)
	}
	if !c.cpuKnown {
		c.cpuKnown, c.cpuBegan = true, cpu-min(cpu, wall)
	}
	return c.limits.overdue(wall, cpu-c.cpuBegan)
}

// overdue is the fault of a script that its own worker should have ended a while ago. Both times have
// to be over by that while: on a busy machine a script's processor time runs out long after the same
// time has passed, and a worker killed at that moment could not say on which line its script was.
func (l Limits) overdue(wall, cpu time.Duration) *Error {
	return l.exceeded(wall-killAfter, cpu-killAfter)
}

// cancel asks the worker to stop, and sees to it that it does.
func (c *conversation) cancel(e *Error) {
	c.mu.Lock()
	if c.over || c.stopFor != nil {
		c.mu.Unlock()
		return
	}
	c.stopFor, c.stopAt = e, time.Now().Add(killAfter)
	c.mu.Unlock()
	// A worker that cannot be told is killed soon.
	_ = c.w.write(func(p *packer) {
		start := p.begin(frameCancel)
		p.num(int64(c.serial))
		p.end(start)
	})
}

// mayRead checks again what the worker has checked: only reads that the call allows go out.
func (c *conversation) mayRead(r readRequest) error {
	if c.call == nil {
		return fmt.Errorf("%w: a read while describing", errMalformed)
	}
	allowedHere := slices.ContainsFunc(c.call.Operations, func(o Operation) bool {
		return o.Connector == r.connector && o.Operation == r.operation && o.Kind != KindMutate && Allowed(c.call.Phase, o.Kind, c.call.ReadsByID)
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads++
	c.inFlight++
	switch {
	case !allowedHere:
		return fmt.Errorf("%w: a read of %.100s.%.100s in %s", errMalformed, r.connector, r.operation, c.call.Phase)
	case c.inFlight > c.limits.InFlight, c.reads > c.limits.HostCalls, len(r.params) > c.limits.Result, !json.Valid(r.params):
		return fmt.Errorf("%w: a read beyond the limits", errMalformed)
	}
	return nil
}

// read asks the host and takes its answer to the worker.
func (c *conversation) read(r readRequest) {
	a := perform(c.ctx, c.host, r.id, Operation{Connector: r.connector, Operation: r.operation}, r.params)
	if c.ctx.Err() != nil {
		return // what a cancelled host answers is no answer; the worker is told of the end, or is done
	}
	if len(a.raw) > c.limits.Argument {
		// Too large also for the pipe: the worker knows by the length, not by the bytes.
		a.raw = make([]byte, c.limits.Argument+1)
	}
	c.mu.Lock()
	c.inFlight--
	if a.err != nil {
		if c.causes == nil {
			c.causes = make(map[int]error)
		}
		c.causes[r.id] = a.err
	}
	c.answers = append(c.answers, a)
	resume := !c.over && !c.running && !c.resuming
	c.resuming = c.resuming || resume
	c.mu.Unlock()
	if resume && !c.resume() {
		return
	}
	c.deliver()
}

// resume waits for a slot and starts the clock again.
func (c *conversation) resume() bool {
	_, err := c.pool.acquire(c.ctx, c.key, 0, true)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resuming = false
	if err != nil {
		return false // cancelled or closed: the worker is told or killed by others
	}
	if c.over {
		go c.pool.release(c.key, 0, nil)
		return false
	}
	c.running, c.since = true, time.Now()
	return true
}

// deliver sends the answers that are there, if the worker may run.
func (c *conversation) deliver() {
	c.mu.Lock()
	if !c.running || c.over {
		c.mu.Unlock()
		return
	}
	answers := c.answers
	c.answers = nil
	c.sent += len(answers)
	c.mu.Unlock()
	if len(answers) == 0 {
		return
	}
	// A worker that died cannot be written to; the conversation ends by reading that.
	_ = c.w.write(func(p *packer) {
		for _, a := range answers {
			packAnswer(p, c.serial, a)
		}
	})
}

// parked gives the slot back while the worker can do nothing. It counts the answers that it has
// taken: one that is on its way makes it go on.
func (c *conversation) parked(answers int) {
	c.mu.Lock()
	if !c.running || answers < c.sent || len(c.answers) > 0 {
		c.mu.Unlock()
		return
	}
	before := c.spent
	c.pause()
	used := c.spent - before
	c.mu.Unlock()
	c.pool.release(c.key, used, nil)
}

// cause puts the host's own error in the place of what stood for it inside the worker.
func (c *conversation) cause(e *Error) {
	remote, ok := e.Cause.(*remoteError)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e.Cause = c.causes[remote.read]
}
