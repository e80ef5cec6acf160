package worker

import (
	"errors"
	"io"
	"time"

	"github.com/pawl-run/pawl/sandbox"
)

// withKill is the fault of a call whose worker the supervisor has killed while its answer came: the call was over its
// limit. Without it the worker would be given to the next call, which would be told of the kill.
func (c *exchange) withKill(fault *sandbox.Error) *sandbox.Error {
	if fault == nil && c.w.killedFor() != nil {
		return deathOf(c.w, c.pool.config.Memory)
	}
	return fault
}

// handlerUnknown reports whether the script has ended its worker and it is not known which handler ran: mutate may
// follow prepare in this call, and the worker has not said that it does. How long the call took says nothing: on a busy
// machine the watchdog of the worker, which says it, may get no processor for as long as the script has one. The call
// may be made again, since nothing outside has seen anything of it. After a read, mutate does not follow.
func (c *exchange) handlerUnknown(fault *sandbox.Error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fault != nil && fault.Fault == sandbox.FaultScript && c.call != nil && c.call.ThenMutate &&
		c.prepared == nil && c.reads == 0
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

// notTaken is the fault of a call whose worker ended before it said anything about it. While a part of the request is
// unread, nothing of the script has run: the script is not to blame, and another worker can take the call.
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
