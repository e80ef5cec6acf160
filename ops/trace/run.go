package trace

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// The phases of a run as spans: those of the metric pawl_phase_seconds, and the wait for a person.
const (
	phasePrepare  = "prepare"
	phaseApproval = "approval"
	phaseCall     = "call"
	phaseNext     = "next"
	phaseProduce  = "produce"
	noPhase       = ""
)

// maxLinks bounds the other traces that a run names.
const maxLinks = 32

// run is a run that has not ended. Its spans are begun when one of them is needed: before that it may not be known
// which trace it belongs to.
type run struct {
	workflow eventlog.WorkflowName
	id       eventlog.RunID
	handler  eventlog.Handler
	kind     eventlog.HandlerType
	version  eventlog.Version
	retryOf  eventlog.RunID
	started  eventlog.Instant
	// events are the events that the run has reserved, as far as they matter for its trace.
	events []eventlog.EventRef

	// phase is its present phase, and since is the beginning of it; noPhase is between two phases.
	phase string
	since eventlog.Instant

	// span is nil until the run's trace is decided, inPhase until the span of its phase is needed.
	span    oteltrace.Span
	inPhase oteltrace.Span
}

func (o *run) reserved(topic eventlog.Topic, id eventlog.MessageID) {
	if len(o.events) <= maxLinks {
		o.events = append(o.events[:len(o.events):len(o.events)], eventlog.EventRef{Topic: topic, MessageID: id})
	}
}

func firstPhase(kind eventlog.HandlerType, retryOf eventlog.RunID) string {
	switch {
	case kind == eventlog.ProducerHandler:
		return phaseProduce
	case retryOf != "":
		return phaseNext
	}
	return phasePrepare
}

// runOf is the run that the fact is about, for facts that matter for its trace.
func runOf(fact eventlog.Fact) (eventlog.RunID, bool) {
	switch f := fact.(type) {
	case *eventlog.EventReserved:
		return f.Run, true
	case *eventlog.EventTransferred:
		return f.Run, true
	case *eventlog.RunPrepared:
		return f.Run, true
	case *eventlog.RunAdvanced:
		return f.Run, true
	case *eventlog.RunSuspended:
		return f.Run, true
	case *eventlog.RunCommitted:
		return f.Run, true
	case *eventlog.RunFailed:
		return f.Run, true
	case *eventlog.RunCrashed:
		return f.Run, true
	case *eventlog.MutationStarted:
		return f.Run, true
	case *eventlog.MutationApplied:
		return f.Run, true
	case *eventlog.MutationFailed:
		return f.Run, true
	case *eventlog.MutationSkipped:
		return f.Run, true
	case *eventlog.MutationReconcileScheduled:
		return eventlog.RunID(f.Mutation), true
	case *eventlog.MutationLeftIndeterminate:
		return eventlog.RunID(f.Mutation), true
	}
	return "", false
}

// moveOf is the phase that the fact begins, noPhase for none. The failure is that of the phase that the fact ends.
func moveOf(fact eventlog.Fact) (next string, failure *eventlog.Failure, moves bool) {
	switch f := fact.(type) {
	case *eventlog.RunPrepared:
		return noPhase, nil, true
	case *eventlog.RunSuspended:
		return phaseApproval, nil, true
	case *eventlog.MutationStarted:
		return phaseCall, nil, true
	case *eventlog.MutationApplied:
		return noPhase, nil, true
	case *eventlog.MutationSkipped:
		return noPhase, nil, true
	case *eventlog.MutationFailed:
		return noPhase, &f.Failure, true
	case *eventlog.MutationReconcileScheduled:
		return noPhase, &f.Failure, true
	case *eventlog.MutationLeftIndeterminate:
		return noPhase, &f.Failure, true
	case *eventlog.RunAdvanced:
		return phaseNext, nil, f.Phase == eventlog.PhaseEmitting
	}
	return noPhase, nil, false
}

// move ends the phase of a run and begins the next one.
func (t *Tracer) move(o *run, at eventlog.Instant, next string, failure *eventlog.Failure, live bool) {
	if o.phase == next {
		return
	}
	if live {
		t.endPhase(o, at, failure)
	}
	o.phase, o.since, o.inPhase = next, at, nil
}

// endPhase makes the span of the phase that ends now.
func (t *Tracer) endPhase(o *run, at eventlog.Instant, failure *eventlog.Failure) {
	if o.phase == noPhase {
		return
	}
	span := t.phaseSpan(o)
	fail(span, failure)
	span.End(oteltrace.WithTimestamp(at.Time()))
}

// end makes the run's span. A run that both began and ended before this engine was started has its span already.
func (t *Tracer) end(o *run, at eventlog.Instant, status string, failure *eventlog.Failure, live bool) {
	delete(t.open, o.id)
	if !live {
		return
	}
	t.endPhase(o, at, failure)
	span := t.spanOf(o)
	span.SetAttributes(attribute.String("pawl.run.status", status), attribute.Int("pawl.events", len(o.events)))
	if len(o.events) > 0 {
		span.SetAttributes(attribute.String("pawl.topic", string(o.events[0].Topic)),
			attribute.String("pawl.message_id", string(o.events[0].MessageID)))
	}
	_, links := t.traces(o) // the events of the run are known by now
	for _, link := range links {
		if link.SpanContext.TraceID() != span.SpanContext().TraceID() {
			span.AddLink(link)
		}
	}
	fail(span, failure)
	span.End(oteltrace.WithTimestamp(at.Time()))
	t.recent.add(o.id, span.SpanContext())
}

// fail marks a span as failed, with the failure's code. The message is not sent, since it may hold private data.
func fail(span oteltrace.Span, failure *eventlog.Failure) {
	if failure == nil {
		return
	}
	span.SetAttributes(attribute.String("error.type", failure.Code),
		attribute.String("pawl.error.class", string(failure.Class)))
	span.SetStatus(codes.Error, failure.Code)
}

// phaseSpan is the span of the run's present phase.
func (t *Tracer) phaseSpan(o *run) oteltrace.Span {
	if o.inPhase == nil {
		ctx := oteltrace.ContextWithSpan(context.Background(), t.spanOf(o))
		_, o.inPhase = t.spans.Start(ctx, o.phase, oteltrace.WithTimestamp(o.since.Time()),
			oteltrace.WithAttributes(attribute.String("pawl.phase", o.phase)))
	}
	return o.inPhase
}

// spanOf is the span of the run. The first call begins it, and so decides to which trace it belongs.
func (t *Tracer) spanOf(o *run) oteltrace.Span {
	if o.span != nil {
		return o.span
	}
	parent, _ := t.traces(o)
	kind := oteltrace.SpanKindInternal
	if o.kind == eventlog.ConsumerHandler {
		kind = oteltrace.SpanKindConsumer
	}
	attributes := []attribute.KeyValue{
		attribute.String("pawl.workflow", string(o.workflow)), attribute.String("pawl.run", string(o.id)),
		attribute.String("pawl.handler", string(o.handler)), attribute.String("pawl.handler.type", string(o.kind)),
		attribute.String("pawl.version", string(o.version)),
	}
	if o.retryOf != "" {
		attributes = append(attributes, attribute.String("pawl.retry_of", string(o.retryOf)))
	}
	ctx := oteltrace.ContextWithRemoteSpanContext(context.Background(), parent)
	_, o.span = t.spans.Start(ofRun(ctx, o.id), string(o.workflow)+" "+string(o.handler),
		oteltrace.WithTimestamp(o.started.Time()), oteltrace.WithSpanKind(kind),
		oteltrace.WithAttributes(attributes...))
	return o.span
}

// traces are the context that is the parent of the run's span, invalid where the run has a trace of its own, and links
// to all traces that led to the run.
func (t *Tracer) traces(o *run) (parent oteltrace.SpanContext, links []oteltrace.Link) {
	s, ok := t.cfg.State(o.workflow)
	if !ok {
		return parent, nil
	}
	seen := map[oteltrace.TraceID]bool{traceOf(o.id): true}
	link := func(to oteltrace.SpanContext) {
		if to.IsValid() && !seen[to.TraceID()] && len(links) < maxLinks {
			seen[to.TraceID()] = true
			links = append(links, oteltrace.Link{SpanContext: to})
		}
	}
	for _, e := range t.events(&s, o) {
		of := parse(e.Traceparent)
		if of.IsValid() && !parent.IsValid() {
			parent = of.WithRemote(true)
		}
		link(of)
		if e.CreatedBy != "" {
			link(t.recent.of(e.CreatedBy))
		}
	}
	if o.retryOf != "" {
		link(t.recent.of(o.retryOf))
	}
	return parent, links
}

// events are the events that the run works on; before its prepare has chosen, the oldest one that it may choose.
func (t *Tracer) events(s *projections.State, o *run) (events []*projections.TopicEvent) {
	for _, ref := range o.events {
		if e := s.Event(ref.Topic, ref.MessageID); e != nil {
			events = append(events, e)
		}
	}
	if len(o.events) > 0 || o.phase != phasePrepare {
		return events
	}
	consumer, ok := s.Definition().Consumer(o.handler)
	if !ok {
		return nil
	}
	now, oldest := eventlog.At(t.cfg.Now()), (*projections.TopicEvent)(nil)
	for _, topic := range consumer.Subscribe {
		for e := range s.Pending(topic) {
			if !e.Visible(now) {
				continue
			}
			if oldest == nil || e.CreatedAt < oldest.CreatedAt {
				oldest = e
			}
			break
		}
	}
	if oldest == nil {
		return nil
	}
	return []*projections.TopicEvent{oldest}
}

// contextOf is the context of a run that has ended, or is not known here. Where it is not remembered any more, it is
// computed from the events of the run.
func (t *Tracer) contextOf(o *run) oteltrace.SpanContext {
	if of := t.recent.of(o.id); of.IsValid() {
		return of
	}
	parent, _ := t.traces(o)
	c := oteltrace.SpanContextConfig{TraceID: traceOf(o.id), SpanID: spanOf(o.id), Remote: true}
	if parent.IsValid() {
		c.TraceID = parent.TraceID()
	}
	made := t.sampler.ShouldSample(sdk.SamplingParameters{TraceID: c.TraceID,
		ParentContext: oteltrace.ContextWithRemoteSpanContext(context.Background(), parent)})
	if made.Decision == sdk.RecordAndSample {
		c.TraceFlags = oteltrace.FlagsSampled
	}
	return oteltrace.NewSpanContext(c)
}
