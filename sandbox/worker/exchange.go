package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/cputime"
	"github.com/pawl-run/pawl/sandbox/vm"
)

// exchange is one call, or one description, on one worker.
type exchange struct {
	pool   *Pool
	w      *process
	key    string // of the workflow that the time is counted for
	serial uint64
	ctx    context.Context // of the reads; ends with the exchange
	request

	mu sync.Mutex
	// running says that the worker owes a frame, holds a slot and its time is the script's.
	running  bool
	resuming bool
	over     bool
	since    time.Time     // when it was last started or stopped
	spent    time.Duration // of the script's time
	waited   time.Duration // for reads
	cpuBegan time.Duration
	cpuKnown bool
	timer    *time.Timer
	stopAt   time.Time // when a cancelled worker is killed
	stopFor  *sandbox.Error

	neverTaken bool // the worker ended, and nothing of the script has run
	worn       bool // the worker is not to be used again

	answers  []vm.Reply // not sent yet
	sent     int
	reads    int
	inFlight int
	causes   map[int]error // of reads that failed
}

// run runs an exchange to its end on a worker that has a slot, and gives both back.
func (c *exchange) run(ctx context.Context, ref scriptRef) *sandbox.Error {
	var cancelReads context.CancelFunc
	c.ctx, cancelReads = context.WithCancel(ctx)
	defer cancelReads()
	c.mu.Lock() // the timer may fire at once
	c.cpuBegan, c.cpuKnown = cputime.Of(c.w.Cmd.Process.Pid)
	c.running, c.since = true, time.Now()
	c.timer = time.AfterFunc(superviseEvery, c.supervise)
	c.mu.Unlock()
	unwatch := context.AfterFunc(ctx, func() { c.cancel(sandbox.Cancelled(ctx, c.cancelMessage())) })

	fault := c.serveUntilResult(ref)

	unwatch()
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
	case c.worn:
		c.pool.config.Logger.Warn("a worker process could not give back the memory that a call has used; another takes "+
			"its place", "workflow", c.key, "pid", c.w.Cmd.Process.Pid)
		c.w.calls.Add(1)
		c.pool.discard(c.w, "limit.memory")
	default:
		c.w.calls.Add(1)
	}
	c.pool.finish(c, fault == nil && !c.worn, held, c.charge(used), waited)
	return fault
}

// charge is what the call counts for its workflow. That of a worn process pays for the start of the next one too: calls
// that wear processes out are not quick ones.
func (c *exchange) charge(used time.Duration) time.Duration {
	if c.worn {
		used += c.w.starting
	}
	return used
}

// withKill is the fault of a call whose worker the supervisor has killed while its answer came: the call was over its
// limit. Without it the worker would be given to the next call, which would be told of the kill.
func (c *exchange) withKill(fault *sandbox.Error) *sandbox.Error {
	if fault == nil && c.w.killedFor() != nil {
		return deathOf(c.w, c.pool.config.Memory)
	}
	return fault
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
			go c.serve(r)
		case framePlace:
			serial, at := unpackPlace(u)
			if err := u.done(); err != nil {
				return c.broken(err)
			}
			if serial != c.serial || c.call == nil {
				return c.broken(fmt.Errorf("%w: the place of a handler that was not called", errMalformed))
			}
			c.w.places()[c.call.Key()] = at
		case frameWorn:
			serial := uint64(u.num())
			if err := errors.Join(u.done(), c.checkSerial(serial)); err != nil {
				return c.broken(err)
			}
			c.worn = true
		case frameWaiting:
			serial, answers := uint64(u.num()), int(u.num())
			if err := errors.Join(u.done(), c.checkSerial(serial)); err != nil {
				return c.broken(err)
			}
			c.workerWaits(answers)
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

// broken ends the worker and says why the exchange cannot go on.
func (c *exchange) broken(err error) *sandbox.Error {
	if errors.Is(err, errMalformed) {
		c.w.kill(malformed(err))
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		c.w.kill(sandbox.InternalFault("read from the worker process: %v", err))
	}
	select {
	case <-c.w.Exited:
	case <-time.After(exitTimeout):
		c.w.kill(malformed(errors.New("it closed its pipe and went on")))
	}
	c.w.Stop()
	return deathOf(c.w, c.pool.config.Memory)
}

// notTaken is the fault of a call of which its worker, now gone, has said nothing. As long as a part of
// the request was never read, nothing of the script has run: whatever ended the worker, it was not the
// script, and another worker can take the call as if nothing had been.
func (c *exchange) notTaken(unwritten error, fault *sandbox.Error) *sandbox.Error {
	if unwritten == nil && unread(c.w.In) == 0 {
		return fault
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopFor != nil || fault.Fault == sandbox.FaultInternal || fault.Code == "script.cancelled" {
		return fault // the caller has given up, or an operator should look
	}
	c.neverTaken = true
	return sandbox.WorkerLost("the worker process ended (%s) before it took the call; nothing of the script has run",
		c.w.Cmd.ProcessState)
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

// cancel asks the worker to stop, and sees to it that it does.
func (c *exchange) cancel(e *sandbox.Error) {
	c.mu.Lock()
	if c.over || c.stopFor != nil {
		c.mu.Unlock()
		return
	}
	c.stopFor, c.stopAt = e, time.Now().Add(killAfter)
	c.mu.Unlock()
	// A worker that cannot be told is killed soon.
	_ = c.w.write(func(p *packer) {
		if c.ended() {
			return
		}
		start := p.begin(frameCancel)
		p.num(int64(c.serial))
		p.end(start)
	})
}

// ended reports whether the worker may be at the next request: while it is asked under the lock of
// writing, nothing of this exchange gets behind that request, where it would look like a part of it
// that was never taken.
func (c *exchange) ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}

// mayRead checks again what the worker has checked: only reads that the call allows go out.
func (c *exchange) mayRead(r readRequest) error {
	if c.call == nil {
		return fmt.Errorf("%w: a read while describing", errMalformed)
	}
	own := r.operation == sandbox.GetByIDs || r.operation == sandbox.PeekAfter // both are of prepare alone
	allowedHere := r.connector == sandbox.OwnConnector && own &&
		sandbox.MemberAllowed(c.call.Phase, sandbox.MemberGetByIDs, false)
	allowedHere = allowedHere || slices.ContainsFunc(c.call.Operations, func(o sandbox.Operation) bool {
		return o.Connector == r.connector && o.Operation == r.operation && o.Kind != sandbox.KindMutate &&
			sandbox.Allowed(c.call.Phase, o.Kind, c.call.MutateReadsByID)
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads++
	c.inFlight++
	switch {
	case !allowedHere:
		return fmt.Errorf("%w: a read of %.100s.%.100s in %s", errMalformed, r.connector, r.operation, c.call.Phase)
	case c.inFlight > c.limits.InFlight, c.reads > c.limits.HostCalls, len(r.params) > c.limits.Result,
		!json.Valid(r.params):
		return fmt.Errorf("%w: a read beyond the limits", errMalformed)
	}
	return nil
}

// serve asks the host and takes its answer to the worker.
func (c *exchange) serve(r readRequest) {
	a := vm.AskHost(c.ctx, c.host, r.id, sandbox.Operation{Connector: r.connector, Operation: r.operation}, r.params)
	if c.ctx.Err() != nil {
		return // what a cancelled host answers is no answer; the worker is told of the end, or is done
	}
	if len(a.Raw) > c.limits.Argument {
		// Too large also for the pipe: the worker knows by the length, not by the bytes.
		a.Raw = make([]byte, c.limits.Argument+1)
	}
	c.mu.Lock()
	c.inFlight--
	if a.Err != nil {
		if c.causes == nil {
			c.causes = make(map[int]error)
		}
		c.causes[r.id] = a.Err
	}
	c.answers = append(c.answers, a)
	resume := !c.over && !c.running && !c.resuming
	if resume {
		c.resuming = true
		c.waited += time.Since(c.since)
	}
	c.mu.Unlock()
	if resume && !c.resume() {
		return
	}
	c.deliver()
}

// resume waits for a slot and starts the clock again.
func (c *exchange) resume() bool {
	_, err := c.pool.acquire(c.ctx, c.key, 0, true)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resuming = false
	if err != nil {
		return false // cancelled or closed: the worker is told or killed elsewhere
	}
	if c.over {
		go c.pool.release(c.key, 0)
		return false
	}
	c.running, c.since = true, time.Now()
	return true
}

// deliver sends the answers that are there, if the worker may run.
func (c *exchange) deliver() {
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
	// A worker that died cannot be written to; the exchange ends by reading that.
	_ = c.w.write(func(p *packer) {
		if c.ended() {
			return
		}
		for _, a := range answers {
			packAnswer(p, c.serial, a)
		}
	})
}

// workerWaits gives the slot back while the worker can do nothing. It counts the answers that it has
// taken: one that is on its way makes it go on.
func (c *exchange) workerWaits(answers int) {
	c.mu.Lock()
	if !c.running || answers < c.sent || len(c.answers) > 0 {
		c.mu.Unlock()
		return
	}
	used := c.pause()
	c.mu.Unlock()
	c.pool.release(c.key, used)
}

// cause puts the host's own error in the place of what stood for it inside the worker.
func (c *exchange) cause(e *sandbox.Error) {
	remote, ok := e.Cause.(*remoteError)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e.Cause = c.causes[remote.read]
}
