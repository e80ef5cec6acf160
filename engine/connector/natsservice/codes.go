package natsservice

import (
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// Codes of the failures of calls to services. An error that a service answers with has the code
// `service.<its code>`, e.g. `service.404`.
const (
	// CodeDisconnected: there is no connection to NATS.
	CodeDisconnected = eventlog.CodeDisconnected
	// CodeAbsent: no instance of the service runs.
	CodeAbsent = "service.absent"
	// CodeTooBig: the parameters are bigger than the server takes.
	CodeTooBig = "service.tooBig"
	// CodeWrite: the request could not be written completely.
	CodeWrite = "service.write"
	// CodeUnnamed: the service answered with an error that has no usable code.
	CodeUnnamed = "service.error"
	// CodeResult: the result does not fit the schema in pawl.result.
	CodeResult = "service.result"
	// CodeReconcile: a reconcile endpoint answered with something that settles nothing.
	CodeReconcile = "service.reconcile"
)

// Headers of requests and replies.
const (
	HeaderWorkflow = "Pawl-Workflow"
	HeaderRun      = "Pawl-Run"
	// HeaderKey is on mutations only: the same key again must have no second effect.
	HeaderKey = "Idempotency-Key"
	// HeaderDeadline is when the caller stops waiting, RFC 3339 with nanoseconds, UTC: a tool must
	// refuse with 503 what it receives later.
	HeaderDeadline = "Pawl-Deadline"
	// HeaderTrace is the context of the trace that the call belongs to, as W3C Trace Context writes it; only where traces
	// are on.
	HeaderTrace = "traceparent"
	// HeaderOutcome on the reply to a mutation, `failed` or `uncertain`, says more than the code does.
	HeaderOutcome = "Pawl-Outcome"
	// HeaderRetryAfter on a reply with 429 or 503 asks to be left alone for so many seconds (F13).
	HeaderRetryAfter = "Pawl-Retry-After"

	headerError = "Nats-Service-Error"
	headerCode  = "Nats-Service-Error-Code"
)

// maxExcerpt bounds in bytes how much of an error's body becomes part of its message.
const maxExcerpt = 1 << 10

// serviceError is an error reply of a service.
type serviceError struct {
	// code is 0 when there is none that can be read.
	code int
	text string
	// retryAfter is 0 unless the code is 429 or 503 and the service asked to be left alone.
	retryAfter time.Duration
}

// errorOf reads an error reply; nil means that the reply is none.
func errorOf(m *nats.Msg) *serviceError {
	code, text := headerOf(m, headerCode), headerOf(m, headerError)
	if code == "" && text == "" {
		return nil
	}
	e := &serviceError{text: text}
	if n, err := strconv.Atoi(strings.TrimSpace(code)); err == nil && n >= 100 && n <= 599 {
		e.code = n
	}
	if e.code == 429 || e.code == 503 {
		e.retryAfter = connector.RetryAfter(headerOf(m, HeaderRetryAfter))
	}
	if e.text == "" {
		e.text = "error " + code
	}
	if body := strings.TrimSpace(string(m.Data)); body != "" {
		if len(body) > maxExcerpt {
			body = body[:maxExcerpt] + "…"
		}
		e.text += ": " + body
	}
	return e
}

// definite says whether the code alone means that nothing was done (F4).
func (e *serviceError) definite() bool {
	switch e.code {
	case 400, 409, 422, 401, 403, 404, 410, 412, 429, 503:
		return true
	}
	return false
}

// class is what the code means; a code that is missing or not in the table is internal (F3).
func (e *serviceError) class() eventlog.Class {
	switch e.code {
	case 400, 409, 422:
		return eventlog.Logic
	case 401, 403:
		return eventlog.Auth
	case 404, 410, 412:
		return eventlog.Precondition
	case 429:
		return eventlog.Transient
	}
	if e.code >= 500 && e.code <= 599 {
		return eventlog.Transient
	}
	return eventlog.Internal
}

func (e *serviceError) failure(call connector.Call) *eventlog.Failure {
	if e.code == 0 {
		return connector.Failf(eventlog.Internal, CodeUnnamed,
			"%s.%s answered with an error that has no %s between 100 and 599: %s",
			call.Connector, call.Operation, headerCode, e.text)
	}
	failure := connector.Failf(e.class(), "service."+strconv.Itoa(e.code), "%s.%s answered %d: %s", call.Connector,
		call.Operation, e.code, e.text)
	failure.RetryAfter = e.retryAfter
	return failure
}

// certainty is what a reply says about whether a mutation was applied.
type certainty int

const (
	// unsaid: nothing but what the rest of the reply says.
	unsaid certainty = iota
	saidFailed
	// saidUncertain also stands for a word that is none of the known ones: it was meant to
	// override something, so nothing may be taken for certain.
	saidUncertain
)

func outcomeHeader(m *nats.Msg) certainty {
	switch strings.ToLower(strings.TrimSpace(headerOf(m, HeaderOutcome))) {
	case "":
		return unsaid
	case "failed":
		return saidFailed
	default:
		return saidUncertain
	}
}

// headerOf reads a header whatever the case of its name: clients in other languages differ in it.
func headerOf(m *nats.Msg, name string) string {
	if v := m.Header.Get(name); v != "" {
		return v
	}
	for key, values := range m.Header {
		if strings.EqualFold(key, name) && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}
