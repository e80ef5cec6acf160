package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm"
)

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
	case !allowedHere, c.prepared != nil: // the mutate after a prepare may not read
		return fmt.Errorf("%w: a read of %.100s.%.100s in %s", errMalformed, r.connector, r.operation, c.call.Phase)
	case c.inFlight > c.limits.InFlight, c.reads > c.limits.HostCalls, len(r.params) > c.limits.Result,
		!json.Valid(r.params):
		return fmt.Errorf("%w: a read beyond the limits", errMalformed)
	}
	return nil
}

// notePrepared keeps the result of prepare, which the worker tells while it runs mutate.
func (c *exchange) notePrepared(u *unpacker) error {
	if c.call == nil || !c.call.ThenMutate || c.prepared != nil {
		return fmt.Errorf("%w: a mutate that was not to be called", errMalformed)
	}
	serial, at, result, failed := unpackPrepared(u, c.call)
	err := errors.Join(u.done(), c.checkSerial(serial), recheck(c.call, &result, failed))
	if err == nil && failed != nil {
		err = fmt.Errorf("%w: mutate after a prepare that has failed", errMalformed)
	}
	if err != nil {
		return err
	}
	then := c.call.Mutate()
	c.script.places[then.Key()] = at
	c.mu.Lock()
	defer c.mu.Unlock()
	c.prepared = &result
	return nil
}

// title names the handler that runs.
func (c *exchange) title() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.prepared != nil {
		then := c.call.Mutate()
		return then.Title()
	}
	return c.call.Title()
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
// taken: one that is on its way makes it go on. A worker that no answer can make go on is refused: its time would stand
// still for ever.
func (c *exchange) workerWaits(answers int) error {
	c.mu.Lock()
	if !c.running || answers < c.sent || len(c.answers) > 0 {
		c.mu.Unlock()
		return nil
	}
	if c.inFlight == 0 {
		c.mu.Unlock()
		return fmt.Errorf("%w: it waits, and has asked for no read", errMalformed)
	}
	used := c.pause()
	c.mu.Unlock()
	c.pool.release(c.key, used)
	return nil
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
