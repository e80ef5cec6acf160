package natsservice

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// foundService is one discovered service as a connector. It never changes: a service that does is
// replaced, and calls that are open end on the one they began on.
type foundService struct {
	line
	offer
}

// line is what a call goes over, and what it needs of the watcher that has found its service.
type line struct {
	wire *wire
	// life ends with the watcher.
	life context.Context
	// listen is how long a mutation's reply is waited for after its deadline (F12).
	listen time.Duration
	// nudge asks for a look at the services soon.
	nudge func()
}

// Name is the service's name.
func (s *foundService) Name() string { return s.name }

// Operations lists what the service offers to scripts.
func (s *foundService) Operations() []connector.Operation {
	list := make([]connector.Operation, len(s.endpoints))
	for i, e := range s.endpoints {
		list[i] = e.operation
	}
	return list
}

func (s *foundService) endpoint(name string) (endpoint, bool) {
	for _, e := range s.endpoints {
		if e.operation.Name == name {
			return e, true
		}
	}
	return endpoint{}, false
}

// Read asks a list or get endpoint.
func (s *foundService) Read(ctx context.Context, call connector.Call) (json.RawMessage, error) {
	e, ok := s.endpoint(call.Operation)
	if !ok {
		return nil, gone(call)
	}
	m, err := s.wire.request(ctx, e.subject, requestHeader(ctx, call), call.Params)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, connector.ContextFailure(ctx, call)
	case errors.Is(err, errNotSent):
		return nil, notSent(call, err)
	default:
		return nil, connector.Failf(eventlog.Transient, CodeDisconnected, "%s.%s: %v", call.Connector, call.Operation,
			err)
	}
	if unheard(m) {
		return nil, s.absent(call)
	}
	if failed := errorOf(m); failed != nil {
		return nil, failed.failure(call)
	}
	if failure := e.checkResult(ctx, m.Data, call); failure != nil {
		return nil, failure
	}
	return m.Data, nil
}

// Perform sends the mutation once. After the deadline it listens on for the reply (F12).
func (s *foundService) Perform(ctx context.Context, call connector.Call) connector.Outcome {
	e, ok := s.endpoint(call.Operation)
	if !ok {
		return connector.FailedWith(gone(call))
	}
	head := requestHeader(ctx, call)
	ex, err := s.wire.send(e.subject, head, call.Params, func() *eventlog.Failure {
		return connector.MayLeave(ctx, call)
	})
	var refused *eventlog.Failure
	if errors.As(err, &refused) {
		return connector.FailedWith(refused)
	}
	if errors.Is(err, errNotSent) {
		return connector.FailedWith(notSent(call, err))
	}
	if err != nil {
		return connector.UncertainWith(connector.Failf(eventlog.Transient, CodeWrite, "%s.%s may have been sent: %v",
			call.Connector, call.Operation, err))
	}
	defer ex.close()
	select {
	case m := <-ex.reply:
		return s.outcome(ctx, e, m, call)
	case <-ctx.Done():
	case <-s.life.Done():
		return connector.UncertainWith(connector.Failf(eventlog.Transient, connector.CodeCancelled,
			"%s.%s was given up before it answered: the engine is stopping", call.Connector, call.Operation))
	}
	select {
	case m := <-ex.reply:
		return s.outcome(ctx, e, m, call)
	default:
	}
	// A broken connection does not end the wait: the reply may come over the next one. Either way
	// the call is uncertain by now.
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		if m := ex.listenOn(s.life.Done(), s.listen); m != nil {
			return s.outcome(ctx, e, m, call)
		}
	}
	return connector.UncertainWith(connector.ContextFailure(ctx, call))
}

// outcome reads the reply to a mutation. An unclear reply is uncertain (F3, F4).
func (s *foundService) outcome(ctx context.Context, e endpoint, m *nats.Msg, call connector.Call) connector.Outcome {
	if unheard(m) {
		return connector.FailedWith(s.absent(call))
	}
	said := outcomeHeader(m)
	if failed := errorOf(m); failed != nil {
		failure := failed.failure(call)
		if said == saidFailed || said == unsaid && failed.definite() {
			return connector.FailedWith(failure)
		}
		return replied(failure)
	}
	switch said {
	case saidFailed:
		return connector.FailedWith(connector.Failf(eventlog.Internal, CodeUnnamed,
			"%s.%s says that it was not applied, without an error that says why", call.Connector, call.Operation))
	case saidUncertain:
		return replied(connector.Failf(eventlog.Internal, CodeUnnamed, "%s.%s answered with %s: %s", call.Connector,
			call.Operation, HeaderOutcome, headerOf(m, HeaderOutcome)))
	}
	// Not given up at the deadline, which may have passed: a late answer counts too (F12), and a check has a
	// bound of its own.
	if failure := e.checkResult(context.WithoutCancel(ctx), m.Data, call); failure != nil {
		return replied(failure)
	}
	return connector.Outcome{Status: connector.Applied, Result: m.Data}
}

// replied is an uncertain outcome of a call that is over: its reply came.
func replied(failure *eventlog.Failure) connector.Outcome {
	return connector.Outcome{Status: connector.Uncertain, Failure: failure, Answered: true}
}

// CallEnding says that a message once handed over cannot be followed: the call is over with its
// reply, or once a tool that works on after the deadline has had the default time for it.
func (s *foundService) CallEnding(connector.Call) connector.Ending {
	ending := connector.DefaultEnding()
	ending.Detached = true
	return ending
}

// checkResult says why a result cannot be used, or nil.
func (e endpoint) checkResult(ctx context.Context, data []byte, call connector.Call) *eventlog.Failure {
	if data = bytes.TrimSpace(data); len(data) == 0 {
		data = []byte("null")
	}
	if !json.Valid(data) {
		return connector.Failf(eventlog.Internal, connector.CodeAnswer,
			"%s.%s answered with something that is not JSON", call.Connector, call.Operation)
	}
	if e.result == nil {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err == nil {
		err = e.result.Validate(ctx, value)
	}
	if err == nil {
		return nil
	}
	if problems := connector.SomeProblems(err); problems != "" {
		return connector.Failf(eventlog.Internal, CodeResult,
			"the result of %s.%s breaks the schema that the service declares in %s: %s",
			call.Connector, call.Operation, metaResult, problems)
	}
	return connector.Failf(eventlog.Internal, CodeResult,
		"the result of %s.%s cannot be checked against the schema that the service declares in %s: %v",
		call.Connector, call.Operation, metaResult, err)
}
