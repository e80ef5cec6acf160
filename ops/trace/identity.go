package trace

import (
	"context"
	"crypto/sha256"
	"math/rand/v2"

	"github.com/oklog/ulid/v2"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/pawl-run/pawl/eventlog"
)

// identities gives the ids of spans: those of runs follow from the run, so that an engine that goes on with a run
// after a restart finds its trace again. It implements the SDK's IDGenerator.
type identities struct{}

type runKey struct{}

// ofRun marks the context in which the span of a run begins.
func ofRun(ctx context.Context, id eventlog.RunID) context.Context {
	return context.WithValue(ctx, runKey{}, id)
}

// NewIDs makes the ids of the root of a trace.
func (i identities) NewIDs(ctx context.Context) (oteltrace.TraceID, oteltrace.SpanID) {
	if of, ok := ctx.Value(runKey{}).(eventlog.RunID); ok {
		return traceOf(of), spanOf(of)
	}
	var id oteltrace.TraceID
	for !id.IsValid() {
		fill(id[:])
	}
	return id, i.NewSpanID(context.Background(), id)
}

// NewSpanID makes the id of a span within a trace.
func (identities) NewSpanID(ctx context.Context, _ oteltrace.TraceID) oteltrace.SpanID {
	if of, ok := ctx.Value(runKey{}).(eventlog.RunID); ok {
		return spanOf(of)
	}
	var id oteltrace.SpanID
	for !id.IsValid() {
		fill(id[:])
	}
	return id
}

func fill(b []byte) {
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
}

// traceOf is the id of a run's own trace: the 16 bytes of its ULID.
func traceOf(id eventlog.RunID) oteltrace.TraceID {
	if parsed, err := ulid.ParseStrict(string(id)); err == nil {
		return oteltrace.TraceID(parsed)
	}
	hash := sha256.Sum256([]byte("trace " + id))
	return oteltrace.TraceID(hash[:16])
}

// spanOf is the id of a run's span.
func spanOf(id eventlog.RunID) oteltrace.SpanID {
	hash := sha256.Sum256([]byte("span " + id))
	return oteltrace.SpanID(hash[:8])
}
