package trace

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// FromEnvironment is the Endpoint that stands for OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or OTEL_EXPORTER_OTLP_ENDPOINT.
const FromEnvironment = "env"

// Config of a Tracer. Endpoint and State are required.
type Config struct {
	// Endpoint is the collector's address, http or https; without a path the path is /v1/traces. FromEnvironment
	// takes it from OTEL_EXPORTER_OTLP_*. Headers, certificates, compression and the timeout are read from there in any
	// case.
	Endpoint string
	// Sample is the part of the traces that begin here which is made, from 0 to 1. For a trace that a sender has begun,
	// the sender decides.
	Sample float64
	// State is a workflow's present state.
	State func(eventlog.WorkflowName) (projections.State, bool)
	// Before are the ends of the log when the engine was started, by partition: older transitions are not traced again.
	Before []uint64
	// Installation and Version of this engine are attributes of its traces.
	Installation, Version string
	// Now is the engine's clock.
	Now func() time.Time
	// Queue is how many spans wait for the collector at most; 0 means 8192.
	Queue int
	// Logger is slog.Default() when nil.
	Logger *slog.Logger
}

// maxOpen is how many runs are traced at once.
const maxOpen = 20_000

// Tracer makes the traces of an engine's runs. It observes every transition ([Tracer.Observe]) and wraps the connectors
// ([Tracer.Connectors]). Its methods are safe for concurrent use.
type Tracer struct {
	cfg      Config
	queue    *queue
	provider *sdk.TracerProvider
	spans    oteltrace.Tracer
	sampler  sdk.Sampler

	mu     sync.Mutex
	open   map[eventlog.RunID]*run
	recent recent
}

// CheckEndpoint says what is wrong with an address of a collector; nil for a valid one.
func CheckEndpoint(endpoint string) error {
	if endpoint == FromEnvironment {
		return nil
	}
	u, err := url.Parse(endpoint)
	switch {
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("it is neither an address such as http://127.0.0.1:4318 nor %s", FromEnvironment)
	case u.User != nil:
		return fmt.Errorf("it holds a password: give credentials in OTEL_EXPORTER_OTLP_HEADERS")
	}
	return nil
}

// New makes a Tracer. The error says what is wrong with the address or the environment; the collector is not asked.
func New(ctx context.Context, c Config) (*Tracer, error) {
	if err := CheckEndpoint(c.Endpoint); err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	var options []otlptracehttp.Option
	if c.Endpoint != FromEnvironment {
		u, err := url.Parse(c.Endpoint)
		if err != nil {
			return nil, fmt.Errorf("traces: %w", err)
		}
		if u.Path == "" || u.Path == "/" {
			u.Path = "/v1/traces"
		}
		options = append(options, otlptracehttp.WithEndpointURL(u.String()))
	}
	exporter, err := otlptracehttp.New(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "pawl"), attribute.String("service.version", c.Version),
		attribute.String("service.namespace", c.Installation),
	), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("traces: read OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	if c.Queue == 0 {
		c.Queue = defaultQueue
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	t := &Tracer{cfg: c, queue: newQueue(exporter, c.Queue, c.Logger), open: map[eventlog.RunID]*run{},
		sampler: sdk.ParentBased(sdk.TraceIDRatioBased(c.Sample))}
	t.provider = sdk.NewTracerProvider(sdk.WithSpanProcessor(t.queue), sdk.WithResource(about),
		sdk.WithIDGenerator(identities{}), sdk.WithSampler(t.sampler))
	t.spans = t.provider.Tracer("github.com/pawl-run/pawl", oteltrace.WithInstrumentationVersion(c.Version))
	return t, nil
}

// Close sends the spans that wait, until ctx ends. Runs that are under way are not sent: the next engine goes on with
// them.
func (t *Tracer) Close(ctx context.Context) error {
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("send the last traces: %w", err)
	}
	return nil
}

// Figures count the spans that are sent and dropped.
func (t *Tracer) Figures() prometheus.Collector { return t.queue }

// Observe handles one transition. It does not block.
func (t *Tracer) Observe(r eventlog.Record) {
	if r.Workflow == eventlog.Installation {
		return
	}
	at := r.Position
	live := at.Partition >= len(t.cfg.Before) || at.Seq > t.cfg.Before[at.Partition]
	t.mu.Lock()
	defer t.mu.Unlock()
	if live {
		t.pushed(r)
	}
	for _, fact := range r.Facts {
		t.fact(r, fact, live)
	}
}

// pushed makes a span in the trace of a sender for the events of one push, which all have the same trace.
func (t *Tracer) pushed(r eventlog.Record) {
	var first *eventlog.EventTraced
	n := 0
	for _, fact := range r.Facts {
		if f, ok := fact.(*eventlog.EventTraced); ok {
			if n++; first == nil {
				first = f
			}
		}
	}
	if first == nil {
		return
	}
	ctx := oteltrace.ContextWithRemoteSpanContext(context.Background(), parse(first.Traceparent))
	_, span := t.spans.Start(ctx, "push "+string(r.Workflow)+" "+string(first.Topic),
		oteltrace.WithSpanKind(oteltrace.SpanKindProducer), oteltrace.WithTimestamp(r.At.Time()),
		oteltrace.WithAttributes(
			attribute.String("pawl.workflow", string(r.Workflow)), attribute.String("pawl.topic", string(first.Topic)),
			attribute.String("pawl.message_id", string(first.MessageID)), attribute.Int("pawl.events", n),
			attribute.Int64("pawl.revision", int64(r.Revision))))
	span.End(oteltrace.WithTimestamp(r.At.Time()))
}

// fact updates the run that the fact is about.
func (t *Tracer) fact(r eventlog.Record, fact eventlog.Fact, live bool) {
	if f, ok := fact.(*eventlog.RunStarted); ok {
		t.begin(&run{workflow: r.Workflow, id: f.Run, handler: f.Handler, kind: f.HandlerType, version: f.Version,
			retryOf: f.RetryOf, started: r.At, phase: firstPhase(f.HandlerType, f.RetryOf), since: r.At})
		return
	}
	id, about := runOf(fact)
	if !about {
		return
	}
	o := t.open[id]
	if o == nil {
		if !live {
			return
		}
		if o = t.resume(r.Workflow, id, r.At); o == nil {
			return
		}
	}
	switch f := fact.(type) {
	case *eventlog.EventReserved:
		o.reserved(f.Topic, f.MessageID)
	case *eventlog.EventTransferred:
		o.reserved(f.Topic, f.MessageID)
	case *eventlog.RunCommitted:
		t.end(o, r.At, string(eventlog.RunStatusCommitted), nil, live)
	case *eventlog.RunFailed:
		t.end(o, r.At, string(f.Status), &f.Failure, live)
	case *eventlog.RunCrashed:
		t.end(o, r.At, string(eventlog.RunStatusCrashed),
			&eventlog.Failure{Class: eventlog.Internal, Code: "run.crashed"}, live)
	default:
		if next, failure, moves := moveOf(fact); moves {
			t.move(o, r.At, next, failure, live)
		}
	}
}

// begin notes a run. Where too many are under way, another one is not traced any further.
func (t *Tracer) begin(o *run) {
	for id := range t.open {
		if len(t.open) < maxOpen {
			break
		}
		delete(t.open, id)
		t.queue.dropped.WithLabelValues(droppedOpen).Inc()
	}
	t.open[o.id] = o
}

// resume takes up a run that an earlier engine began, as far as the state knows it: a run that has not ended, or ends
// now. It returns nil for any other.
func (t *Tracer) resume(workflow eventlog.WorkflowName, id eventlog.RunID, now eventlog.Instant) *run {
	s, ok := t.cfg.State(workflow)
	if !ok {
		return nil
	}
	known := s.Run(id)
	if known == nil || known.EndedAt != 0 && known.EndedAt != now {
		return nil
	}
	o := &run{workflow: workflow, id: id, handler: known.Handler, kind: known.Type, version: known.Version,
		retryOf: known.RetryOf, started: known.StartedAt, since: known.StartedAt,
		phase: firstPhase(known.Type, known.RetryOf), events: known.Reserved}
	t.begin(o)
	return o
}
