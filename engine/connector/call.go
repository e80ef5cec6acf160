package connector

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/pawl-run/pawl/eventlog"
)

// Read performs a list or get operation within its timeout and call.Deadline. The error is always a
// *eventlog.Failure. A result is valid JSON of at most MaxResult bytes.
func (r *Registry) Read(ctx context.Context, call Call) (json.RawMessage, error) {
	call = normal(call)
	c, op, ok := r.lookup(call.Connector, call.Operation)
	if !ok {
		return nil, r.unknown(call)
	}
	if op.Kind != List && op.Kind != Get {
		return nil, Failf(eventlog.Internal, CodeKind, "%s.%s is a mutation and cannot be read", call.Connector,
			call.Operation)
	}
	ctx, cancel := callContext(ctx, timeoutOf(c, op, call), call)
	defer cancel()
	if failure := r.schemas.check(ctx, call, op); failure != nil {
		return nil, failure
	}
	if failure := ContextFailure(ctx, call); failure != nil {
		return nil, failure
	}

	type answer struct {
		result json.RawMessage
		err    error
	}
	done := make(chan answer, 1)
	go func() {
		a := answer{err: repaired(nil, call)}
		defer func() {
			// Also reached when the connector ended its goroutine: internal then.
			if p := recover(); p != nil {
				a = answer{err: panicked(p, call)}
			}
			done <- a
		}()
		a.result, a.err = c.Read(ctx, call)
	}()
	a, returned := await(ctx, done)
	if !returned {
		return nil, ContextFailure(ctx, call)
	}
	if a.err != nil {
		return nil, readFailure(ctx, call, a.err)
	}
	result, err := cleanResult(a.result)
	if err != nil {
		return nil, Failf(eventlog.Internal, CodeAnswer, "connector %s answered %s with something that is not JSON: %v",
			call.Connector, call.Operation, err)
	}
	if len(result) > MaxResult {
		return nil, Failf(eventlog.Logic, CodeReadLimit,
			"the result of %s.%s has %d bytes, the limit is %d: ask for less at once",
			call.Connector, call.Operation, len(result), MaxResult)
	}
	return result, nil
}

// Perform sends a mutation once. A fault before the connector is asked is a definite failure;
// afterwards the connector's word counts, and where it is missing or unusable the outcome is
// Uncertain (F3, F4). It returns at the deadline at the latest (plus a moment), whatever the
// connector does.
func (r *Registry) Perform(ctx context.Context, call Call) Outcome {
	call = normal(call)
	begun := false
	defer func() {
		if !begun {
			endTurn(call)
		}
	}()
	c, op, ok := r.lookup(call.Connector, call.Operation)
	if !ok {
		return FailedWith(r.unknown(call))
	}
	if op.Kind != Mutate {
		return FailedWith(Failf(eventlog.Internal, CodeKind, "%s.%s is a read and cannot be performed as a mutation",
			call.Connector, call.Operation))
	}
	if call.Key == "" {
		return FailedWith(Failf(eventlog.Internal, CodeKey, "%s.%s was to be sent without an idempotency key",
			call.Connector, call.Operation))
	}
	ctx, cancel := callContext(ctx, timeoutOf(c, op, call), call)
	if failure := r.schemas.check(ctx, call, op); failure != nil {
		cancel()
		return FailedWith(failure)
	}
	if failure := MayLeave(ctx, call); failure != nil {
		cancel()
		return FailedWith(failure)
	}
	begun = true
	var handed atomic.Bool // the first answer, of the connector or of the clock, counts
	done := make(chan Outcome, 1)
	go func() {
		// Only the end of the call releases its context: it may listen on after the deadline.
		defer cancel()
		defer endTurn(call)
		out := UncertainWith(repaired(nil, call))
		defer func() {
			// Also reached when the connector ended its goroutine: still Uncertain then.
			if p := recover(); p != nil {
				out = UncertainWith(panicked(p, call))
			}
			if out = checkedOutcome(out, call); handed.CompareAndSwap(false, true) {
				done <- out
			} else {
				r.reportLate(call, out)
			}
		}()
		out = c.Perform(ctx, call)
	}()
	out, returned := await(ctx, done)
	if returned {
		return out
	}
	if !handed.CompareAndSwap(false, true) {
		return <-done
	}
	out = UncertainWith(ContextFailure(ctx, call))
	out.Open = true
	return out
}

// reportLate passes on how a call ended after it had been answered as Uncertain and Open (F12).
func (r *Registry) reportLate(call Call, out Outcome) {
	r.mu.RLock()
	late := r.late
	r.mu.RUnlock()
	if late != nil {
		late(call, out)
	}
}

// CheckPinned says why the parameters do not fit the schema that a deploy has pinned, or nil, as Schemas.CheckPinned
// does.
func (r *Registry) CheckPinned(ctx context.Context, op eventlog.Operation, params json.RawMessage) *eventlog.Failure {
	return r.schemas.CheckPinned(ctx, op, params)
}

// Host is where the call goes, empty where it goes to none or its connector is not there now.
func (r *Registry) Host(call Call) string {
	c, _, ok := r.lookup(call.Connector, call.Operation)
	if namer, names := c.(HostNamer); ok && names {
		return namer.CallHost(normal(call))
	}
	return ""
}

// Secrets names the secrets of the configuration that the call carries.
func (r *Registry) Secrets(call Call) []string {
	c, _, ok := r.lookup(call.Connector, call.Operation)
	if namer, carries := c.(SecretNamer); ok && carries {
		return namer.CallSecrets(normal(call))
	}
	return nil
}

// Turn waits until the mutation may be sent, for no longer than a call may take, nor beyond its deadline. The turn is
// nil where nothing bounds the calls to its target. The caller ends it, or gives it to Perform with the call, which
// does. A failure says why the turn does not come in that time: nothing was sent, and nothing may be.
func (r *Registry) Turn(ctx context.Context, call Call) (turn Turn, failure *eventlog.Failure) {
	call = normal(call)
	c, op, ok := r.lookup(call.Connector, call.Operation)
	waiter, bounded := c.(TurnWaiter)
	if !ok || !bounded || op.Kind != Mutate {
		return nil, nil
	}
	defer func() {
		if p := recover(); p != nil {
			turn, failure = nil, panicked(p, call)
		}
	}()
	if !waiter.MayWait() {
		return nil, nil
	}
	ctx, cancel := callContext(ctx, timeoutOf(c, op, call), call)
	defer cancel()
	turn, failure = waiter.CallTurn(ctx, call)
	if failure != nil {
		return nil, repaired(failure, call)
	}
	return turn, nil
}

func endTurn(call Call) {
	if call.Turn != nil {
		call.Turn.End()
	}
}

// Waiting lists the workflow's calls that have not left yet, because their turn at their target has not come.
func (r *Registry) Waiting(workflow eventlog.WorkflowName) (all []Waiting) {
	for _, name := range r.Names() {
		c, _ := r.Connector(name)
		if waiter, waits := c.(CallsWaiter); waits {
			all = append(all, waiter.Waiting(workflow)...)
		}
	}
	return all
}

// Ending says when nothing of the call can be under way any more. For a connector that is not there now the default
// holds.
func (r *Registry) Ending(call Call) Ending {
	c, _, ok := r.lookup(call.Connector, call.Operation)
	if describer, says := c.(EndingDescriber); ok && says {
		return describer.CallEnding(normal(call))
	}
	return DefaultEnding()
}

// Reconciles says whether Reconcile can settle this call: its operation says so and, where that
// depends on the call, its connector too.
func (r *Registry) Reconciles(call Call) bool {
	c, op, ok := r.lookup(call.Connector, call.Operation)
	if !ok || op.Kind != Mutate || !op.Reconciles {
		return false
	}
	if each, depends := c.(CallReconciler); depends {
		return each.ReconcilesCall(normal(call))
	}
	return true
}

// Resends is for how long after its start the call may be sent again to find out what became of it; 0 for not at all.
func (r *Registry) Resends(call Call) time.Duration {
	c, op, ok := r.lookup(call.Connector, call.Operation)
	resender, some := c.(CallResender)
	if !ok || op.Kind != Mutate || !op.Reconciles || !some {
		return 0
	}
	return resender.CallResends(normal(call))
}

// Reconcile asks the connector what became of an earlier mutation call. It has the operation's
// timeout, not call.Deadline, which is over by now. Every fault of the question or the answer is
// VerdictRetry: nothing is known, and nothing was sent.
func (r *Registry) Reconcile(ctx context.Context, call Call) Reconciliation {
	call = normal(call)
	c, op, ok := r.lookup(call.Connector, call.Operation)
	if !ok {
		return RetryWith(r.unknown(call))
	}
	if !r.Reconciles(call) {
		return RetryWith(Failf(eventlog.Internal, CodeKind, "%s.%s cannot be reconciled", call.Connector,
			call.Operation))
	}
	if call.Key == "" {
		return RetryWith(Failf(eventlog.Internal, CodeKey, "%s.%s cannot be reconciled without its idempotency key",
			call.Connector, call.Operation))
	}
	ctx, cancel := context.WithTimeout(ctx, timeoutOf(c, op, call))
	defer cancel()
	done := make(chan Reconciliation, 1)
	go func() {
		answer := RetryWith(repaired(nil, call))
		defer func() {
			if p := recover(); p != nil {
				answer = RetryWith(panicked(p, call))
			}
			done <- checkedReconciliation(answer, call)
		}()
		answer = c.Reconcile(ctx, call)
	}()
	answer, returned := await(ctx, done)
	if !returned {
		return RetryWith(ContextFailure(ctx, call))
	}
	return answer
}
