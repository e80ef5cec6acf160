package connector

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/pawl-run/pawl/eventlog"
)

// MaxResult is the most bytes one call's result may have.
const MaxResult = 1 << 20

// grace is how long a call that has run out of time may take to say so itself; its own words
// tell an operator more than the registry's.
const grace = 100 * time.Millisecond

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
	if failure := r.checkParams(ctx, call, op); failure != nil {
		return nil, failure
	}

	type answer struct {
		result json.RawMessage
		err    error
	}
	done := make(chan answer, 1)
	go func() {
		a := answer{err: wellFormed(nil, call)}
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

// readFailure gives a read's error its class: what the connector said, transient when time was
// over, else internal (F3).
func readFailure(ctx context.Context, call Call, err error) *eventlog.Failure {
	var failure *eventlog.Failure
	if errors.As(err, &failure) && failure != nil {
		return wellFormed(failure, call)
	}
	if ended := ContextFailure(ctx, call); ended != nil {
		return ended
	}
	return Failf(eventlog.Internal, CodeAnswer, "%s.%s failed: %v", call.Connector, call.Operation, err)
}

// Perform sends a mutation once. A fault before the connector is asked is a definite failure;
// afterwards the connector's word counts, and where it is missing or unusable the outcome is
// Uncertain (F3, F4). It returns at the deadline at the latest (plus a moment), whatever the
// connector does.
func (r *Registry) Perform(ctx context.Context, call Call) Outcome {
	call = normal(call)
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
	if failure := r.checkParams(ctx, call, op); failure != nil {
		cancel()
		return FailedWith(failure)
	}
	if failure := MayLeave(ctx, call); failure != nil {
		cancel()
		return FailedWith(failure)
	}
	var handed atomic.Bool // the first answer, of the connector or of the clock, counts
	done := make(chan Outcome, 1)
	go func() {
		// Only the end of the call releases its context: it may listen on after the deadline.
		defer cancel()
		out := UncertainWith(wellFormed(nil, call))
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

// Host is where the call goes, empty where it goes to none or its connector is not there now.
func (r *Registry) Host(call Call) string {
	c, _, ok := r.lookup(call.Connector, call.Operation)
	if hoster, names := c.(CallHoster); ok && names {
		return hoster.CallHost(normal(call))
	}
	return ""
}

// Secrets names the secrets of the configuration that the call carries.
func (r *Registry) Secrets(call Call) []string {
	c, _, ok := r.lookup(call.Connector, call.Operation)
	if secreter, carries := c.(CallSecreter); ok && carries {
		return secreter.CallSecrets(normal(call))
	}
	return nil
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

// Ending says when nothing of the call can be under way any more. A connector that is not there now
// cannot say otherwise than the default.
func (r *Registry) Ending(call Call) Ending {
	c, _, ok := r.lookup(call.Connector, call.Operation)
	if ender, says := c.(CallEnder); ok && says {
		return ender.CallEnding(normal(call))
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
		answer := RetryWith(wellFormed(nil, call))
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

// checkedOutcome makes an outcome storable without ever making it more certain than it was.
func checkedOutcome(out Outcome, call Call) Outcome {
	switch out.Status {
	case Applied:
		result, err := boundedResult(out.Result)
		if err != nil {
			return UncertainWith(Failf(eventlog.Internal, CodeAnswer,
				"connector %s said that %s was applied, with a result that is not JSON: %v", call.Connector,
				call.Operation, err))
		}
		return Outcome{Status: Applied, Result: result}
	case Failed:
		return FailedWith(wellFormed(out.Failure, call))
	default:
		failure := wellFormed(out.Failure, call)
		failure.RetryAfter = 0 // it is not tried again: what became of it has to be found out first
		return Outcome{Status: Uncertain, Failure: failure, Answered: out.Answered, Relayed: out.Relayed}
	}
}

func checkedReconciliation(answer Reconciliation, call Call) Reconciliation {
	switch answer.Verdict {
	case VerdictApplied:
		result, err := boundedResult(answer.Result)
		if err != nil {
			return RetryWith(Failf(eventlog.Internal, CodeAnswer,
				"connector %s said that %s had been applied, with a result that is not JSON: %v", call.Connector,
				call.Operation, err))
		}
		return Reconciliation{Verdict: VerdictApplied, Result: result}
	case VerdictFailed:
		if answer.Failure == nil {
			answer.Failure = Failf(eventlog.Transient, CodeNotApplied, "%s.%s did not take effect", call.Connector,
				call.Operation)
		}
		return Reconciliation{Verdict: VerdictFailed, Failure: wellFormed(answer.Failure, call)}
	default:
		if answer.Failure != nil {
			answer.Failure = wellFormed(answer.Failure, call)
		}
		return Reconciliation{Verdict: VerdictRetry, Failure: answer.Failure}
	}
}

// boundedResult is cleanResult for an applied mutation: what is too big becomes a marker.
func boundedResult(raw json.RawMessage) (json.RawMessage, error) {
	result, err := cleanResult(raw)
	if err == nil && len(result) > MaxResult {
		return TruncatedResult(int64(len(result))), nil
	}
	return result, err
}

// TruncatedResult is the marker that stands for a result or parameters too big to keep: {"truncated":true,"bytes":N}.
func TruncatedResult(bytes int64) json.RawMessage {
	return fmt.Appendf(nil, `{"truncated":true,"bytes":%d}`, bytes)
}

var jsonNull = json.RawMessage("null")

// cleanResult returns the result as valid JSON and UTF-8; no result at all is null.
func cleanResult(raw json.RawMessage) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return jsonNull, nil
	}
	if !json.Valid(raw) {
		var ignored any
		return nil, json.Unmarshal(raw, &ignored) // says where
	}
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	return raw, nil
}

func panicked(p any, call Call) *eventlog.Failure {
	return Failf(eventlog.Internal, CodePanic, "connector %s panicked in %s: %v; please report this", call.Connector,
		call.Operation, p)
}

// normal gives absent parameters their meaning: an empty object.
func normal(call Call) Call {
	if len(bytes.TrimSpace(call.Params)) == 0 {
		call.Params = json.RawMessage("{}")
	}
	return call
}

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
	if timer, depends := c.(CallTimer); depends {
		if own := timer.CallTimeout(call); own > 0 {
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

// MayLeave says why a mutation must not be sent (any more), or nil. A connector asks it immediately
// before the first byte: to connect may take its time. The wall clock is asked beside the context, whose
// timer stands still while the machine is suspended.
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
