package trace

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	oteltrace "go.opentelemetry.io/otel/trace"
)

// Header carries the context of a trace, over HTTP and NATS.
const Header = "traceparent"

type senderKey struct{}

// WithSender notes that a request came with this header. A header that is not well-formed is ignored.
func WithSender(ctx context.Context, header string) context.Context {
	of := parse(header)
	if !of.IsValid() {
		return ctx
	}
	return context.WithValue(ctx, senderKey{}, format(of))
}

// Sender is the context of the trace that the request came with; empty for none.
func Sender(ctx context.Context) string {
	header, _ := ctx.Value(senderKey{}).(string)
	return header
}

// parse reads a header; the result is not valid where the header is not well-formed.
func parse(header string) oteltrace.SpanContext {
	if header == "" {
		return oteltrace.SpanContext{}
	}
	carrier := propagation.MapCarrier{Header: header}
	return oteltrace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}

// format writes the header of a context.
func format(of oteltrace.SpanContext) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(oteltrace.ContextWithSpanContext(context.Background(), of), carrier)
	return carrier[Header]
}
