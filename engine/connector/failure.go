package connector

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-run/pawl/eventlog"
)

var classes = []eventlog.Class{
	eventlog.Transient, eventlog.Logic, eventlog.Permission,
	eventlog.Auth, eventlog.Precondition, eventlog.Internal,
}

// Failf builds a failure. A message longer than 4 KiB is cut.
func Failf(class eventlog.Class, code, format string, args ...any) *eventlog.Failure {
	return &eventlog.Failure{Class: class, Code: code, Message: eventlog.ClipText(fmt.Sprintf(format, args...))}
}

// FailedWith is the outcome of a mutation that definitely did not happen and never will (F4).
func FailedWith(f *eventlog.Failure) Outcome { return Outcome{Status: Failed, Failure: f} }

// UncertainWith is the outcome of a mutation that may or may not have happened.
func UncertainWith(f *eventlog.Failure) Outcome { return Outcome{Status: Uncertain, Failure: f} }

// RetryWith is the answer of a reconcile that does not know yet.
func RetryWith(f *eventlog.Failure) Reconciliation {
	return Reconciliation{Verdict: VerdictRetry, Failure: f}
}

// DecodeParams decodes a call's parameters into a struct and refuses fields that it does not have.
// Numbers in interface values stay json.Number. Empty parameters are an empty object.
func DecodeParams(params json.RawMessage, into any) *eventlog.Failure {
	if len(params) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(params))
	decoder.DisallowUnknownFields()
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return Failf(eventlog.Logic, CodeParams, "the parameters cannot be read: %v", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Failf(eventlog.Logic, CodeParams, "the parameters are more than one JSON value")
	}
	return nil
}

// ClosedBy names the side that closed a connection in its error, and returns any other error as it is.
func ClosedBy(side string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New(side + " closed the connection")
	}
	return err
}

// ContextFailure says in which way ctx ended a call, or nil while it has not ended: the call ran
// out of time, or its caller gave it up. Both are transient (F2).
func ContextFailure(ctx context.Context, call Call) *eventlog.Failure {
	err := ctx.Err()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return Failf(eventlog.Transient, CodeTimeout, "%s.%s did not answer in time", call.Connector, call.Operation)
	default:
		return Failf(eventlog.Transient, CodeCancelled, "%s.%s was given up before it answered", call.Connector,
			call.Operation)
	}
}

// HeldBack is the failure of a call that was not sent because ctx ended while the call waited for a bound of this
// engine. why names the bound, and the call may be tried again after the given time. The target has no part in it
// (F13). If the caller gave the call up, the failure is that of ContextFailure.
func HeldBack(ctx context.Context, call Call, again time.Duration, why string) *eventlog.Failure {
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ContextFailure(ctx, call)
	}
	failure := Failf(eventlog.Transient, eventlog.CodeHeldBack, "%s.%s was not sent: %s", call.Connector, call.Operation,
		why)
	failure.RetryAfter = again
	return failure
}

// repaired is what a connector says about a failure, repaired, so that the log never holds an unknown class or an
// unbounded message. A missing failure or class counts as internal (F3).
func repaired(f *eventlog.Failure, call Call) *eventlog.Failure {
	if f == nil {
		return Failf(eventlog.Internal, CodeAnswer, "connector %s failed at %s without saying why", call.Connector,
			call.Operation)
	}
	out := *f
	if !slices.Contains(classes, out.Class) {
		out.Class = eventlog.Internal
	}
	if out.Code == "" {
		out.Code = CodeAnswer
	}
	out.Message = eventlog.ClipText(out.Message)
	out.RetryAfter = 0
	if out.Class == eventlog.Transient && f.RetryAfter > 0 {
		out.RetryAfter = min(f.RetryAfter, eventlog.MaxRetryAfter)
	}
	return &out
}

// RetryAfter reads a wish to be left alone for a number of whole seconds (F13), at most
// eventlog.MaxRetryAfter; 0 means that the text is none.
func RetryAfter(seconds string) time.Duration {
	n, err := strconv.ParseUint(strings.TrimSpace(seconds), 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0
	}
	return time.Duration(min(n, uint64(eventlog.MaxRetryAfter/time.Second))) * time.Second
}

// Codes of the failures that the registry itself reports.
const (
	// CodeUnknown: no such connector or operation now. Transient: after a deploy a missing tool
	// is expected back.
	CodeUnknown = "connector.unknown"
	// CodeKind: a read was asked of a mutation or the other way round.
	CodeKind = "connector.kind"
	// CodeSchema: the operation's own schema cannot be compiled.
	CodeSchema = "connector.schema"
	// CodePanic: the connector panicked.
	CodePanic = "connector.panic"
	// CodeAnswer: the connector's answer is unusable.
	CodeAnswer = "connector.answer"
	// CodeParams: the script's parameters do not fit the operation's schema.
	CodeParams = "call.params"
	// CodeKey: a mutation without an idempotency key.
	CodeKey = "call.key"
	// CodeDeadline: the deadline had passed before anything was sent.
	CodeDeadline = eventlog.CodeDeadline
	// CodeTimeout: no answer in time.
	CodeTimeout = "call.timeout"
	// CodeCancelled: the caller gave the call up.
	CodeCancelled = eventlog.CodeCancelled
	// CodeNotApplied: the target says that the call did not take effect and never will, when it is asked or when the call
	// is sent again to find out.
	CodeNotApplied = "call.notApplied"
	// CodeReadLimit: a read's result is bigger than MaxResult.
	CodeReadLimit = "limit.read"
)
