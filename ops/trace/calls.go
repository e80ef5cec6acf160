package trace

import (
	"context"
	"encoding/json"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// Connectors wraps the connectors that the engine calls: each call becomes a span, and gets the context of that span.
func (t *Tracer) Connectors(behind engine.Connectors) engine.Connectors { return connectors{behind, t} }

// outside are the wrapped connectors.
type outside = engine.Connectors

type connectors struct {
	outside
	tracer *Tracer
}

// Read implements [engine.Connectors].
func (c connectors) Read(ctx context.Context, call connector.Call) (json.RawMessage, error) {
	span := c.begin("read", &call)
	result, err := c.outside.Read(ctx, call)
	var failure *eventlog.Failure
	if err != nil && !errors.As(err, &failure) {
		failure = &eventlog.Failure{Class: eventlog.Internal, Code: "connector.fault"}
	}
	c.end(span, failure)
	return result, err
}

// Perform implements [engine.Connectors].
func (c connectors) Perform(ctx context.Context, call connector.Call) connector.Outcome {
	span := c.begin("mutate", &call)
	if call.Resend {
		span.SetAttributes(attribute.Bool("pawl.resend", true))
	}
	outcome := c.outside.Perform(ctx, call)
	span.SetAttributes(attribute.String("pawl.outcome", outcomes[outcome.Status]))
	failure := outcome.Failure
	if failure == nil && outcome.Status != connector.Applied {
		failure = &eventlog.Failure{Class: eventlog.Internal, Code: "mutation." + outcomes[outcome.Status]}
	}
	c.end(span, failure)
	return outcome
}

// Reconcile implements [engine.Connectors].
func (c connectors) Reconcile(ctx context.Context, call connector.Call) connector.Reconciliation {
	span := c.begin("reconcile", &call)
	answer := c.outside.Reconcile(ctx, call)
	span.SetAttributes(attribute.String("pawl.outcome", verdicts[answer.Verdict]))
	failure := answer.Failure
	if answer.Verdict != connector.VerdictRetry {
		failure = nil // the question was answered
	}
	c.end(span, failure)
	return answer
}

var (
	outcomes = map[connector.Status]string{connector.Uncertain: "uncertain", connector.Applied: "applied",
		connector.Failed: "failed"}
	verdicts = map[connector.Verdict]string{connector.VerdictRetry: "retry", connector.VerdictApplied: "applied",
		connector.VerdictFailed: "failed"}
)

// begin makes the span of a call and gives the call its context.
func (c connectors) begin(what string, call *connector.Call) oteltrace.Span {
	t := c.tracer
	attributes := []attribute.KeyValue{
		attribute.String("pawl.workflow", string(call.Workflow)), attribute.String("pawl.run", string(call.Run)),
		attribute.String("pawl.connector", call.Connector), attribute.String("pawl.operation", call.Operation),
	}
	if host := c.Host(*call); host != "" {
		attributes = append(attributes, attribute.String("server.address", host))
	}
	ctx := oteltrace.ContextWithRemoteSpanContext(context.Background(), t.callParent(call.Workflow, call.Run))
	_, span := t.spans.Start(ctx, what+" "+call.Connector+"."+call.Operation,
		oteltrace.WithSpanKind(oteltrace.SpanKindClient), oteltrace.WithTimestamp(t.cfg.Now()),
		oteltrace.WithAttributes(attributes...))
	call.Traceparent = format(span.SpanContext())
	return span
}

func (c connectors) end(span oteltrace.Span, failure *eventlog.Failure) {
	fail(span, failure)
	span.End(oteltrace.WithTimestamp(c.tracer.cfg.Now()))
}

// callParent is the parent of the span of a call: the run's phase while the run is under way, else the run.
func (t *Tracer) callParent(workflow eventlog.WorkflowName, id eventlog.RunID) oteltrace.SpanContext {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.open[id]
	if o == nil {
		o = t.resume(workflow, id, 0)
	}
	switch {
	case o == nil: // the run has ended: its call is reconciled, or sent again
		ended := &run{workflow: workflow, id: id}
		if s, ok := t.cfg.State(workflow); ok {
			if known := s.Run(id); known != nil {
				ended.events, ended.retryOf = known.Reserved, known.RetryOf
			}
		}
		return t.contextOf(ended)
	case o.phase == noPhase:
		return t.spanOf(o).SpanContext()
	}
	return t.phaseSpan(o).SpanContext()
}
