package connector

import (
	"context"
	"errors"
	"time"

	"github.com/pawl-run/pawl/eventlog"
)

// grace is how long a call that has run out of time may take to say so itself; its own words
// tell an operator more than the registry's.
const grace = 100 * time.Millisecond

// Timeout is how long a call may take at most: its deadline is its start plus this. False means
// that there is no such operation now.
func (r *Registry) Timeout(call Call) (time.Duration, bool) {
	call = normal(call)
	c, op, ok := r.lookup(call.Connector, call.Operation)
	if !ok {
		return 0, false
	}
	return timeoutOf(c, op, call), true
}

func timeoutOf(c Connector, op Operation, call Call) time.Duration {
	timeout := op.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	if timeouter, depends := c.(CallTimeouter); depends {
		if own := timeouter.CallTimeout(call); own > 0 {
			timeout = min(timeout, own)
		}
	}
	return timeout
}

// callContext ends with the timeout or the call's deadline, whichever comes first.
func callContext(ctx context.Context, timeout time.Duration, call Call) (context.Context, context.CancelFunc) {
	end := time.Now().Add(timeout)
	if !call.Deadline.IsZero() && call.Deadline.Before(end) {
		end = call.Deadline
	}
	return context.WithDeadline(ctx, end)
}

// PageTime is when a page of a list is to end before it is full: after half of the call's time. Items that take long
// to read must not use up the time of the call, since then none of them would ever be listed.
func PageTime(ctx context.Context) time.Time {
	now := time.Now()
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = now.Add(DefaultTimeout)
	}
	return now.Add(deadline.Sub(now) / 2)
}

// MayLeave says why a mutation must not be sent (any more), or nil. A connector asks it immediately
// before the first byte: to connect may take its time. The wall clock is asked besides the context, whose timer stands
// still while the machine is suspended.
func MayLeave(ctx context.Context, call Call) *eventlog.Failure {
	if DeadlinePassed(call) || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return Failf(eventlog.Transient, CodeDeadline, "%s.%s was not sent: its deadline had passed", call.Connector,
			call.Operation)
	}
	if ctx.Err() != nil {
		return Failf(eventlog.Transient, CodeCancelled, "%s.%s was not sent: the call was given up before",
			call.Connector, call.Operation)
	}
	if call.Gate != nil {
		return call.Gate()
	}
	return nil
}

// DeadlinePassed says whether the call's deadline is over by the wall clock. Nothing may be sent then.
func DeadlinePassed(call Call) bool {
	return !call.Deadline.IsZero() && !time.Now().Round(0).Before(call.Deadline.Round(0))
}

// await waits for an answer until ctx has ended, and the grace time longer.
func await[T any](ctx context.Context, done <-chan T) (T, bool) {
	select {
	case answer := <-done:
		return answer, true
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case answer := <-done:
		return answer, true
	case <-timer.C:
		var none T
		return none, false
	}
}
