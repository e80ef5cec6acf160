package trace

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// The reasons for which a span is dropped.
const (
	droppedFull   = "queue"     // there was no room
	droppedFailed = "collector" // the collector did not take it
	droppedOpen   = "open"      // too many runs were under way
)

const (
	// defaultQueue is how many spans wait for the collector at most.
	defaultQueue = 8192
	// complainAgain is the least time between two warnings that the collector takes nothing.
	complainAgain = time.Minute
)

// queue is between the spans that have ended and the collector. It counts the spans that wait, and drops and counts
// those that the SDK's own queue would drop in silence. It implements [sdk.SpanProcessor], and wraps the exporter as an
// [sdk.SpanExporter].
type queue struct {
	batches  sdk.SpanProcessor
	exporter sdk.SpanExporter
	room     int64
	logger   *slog.Logger

	waiting    atomic.Int64
	complained atomic.Int64 // Unix seconds
	sent       prometheus.Counter
	dropped    *prometheus.CounterVec
}

func newQueue(exporter sdk.SpanExporter, room int, logger *slog.Logger) *queue {
	q := &queue{exporter: exporter, room: int64(room), logger: logger,
		sent: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pawl_trace_spans_sent_total", Help: "Spans that the collector of traces has taken.",
		}),
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pawl_trace_spans_dropped_total",
			Help: "Spans that were not sent, by reason: the queue was full, the collector did not take them, or too many " +
				"runs were open.",
		}, []string{"reason"}),
	}
	for _, reason := range []string{droppedFull, droppedFailed, droppedOpen} {
		q.dropped.WithLabelValues(reason)
	}
	q.batches = sdk.NewBatchSpanProcessor(counted{q}, sdk.WithMaxQueueSize(room),
		sdk.WithMaxExportBatchSize(min(room, sdk.DefaultMaxExportBatchSize)), sdk.WithBatchTimeout(time.Second))
	return q
}

// OnStart implements [sdk.SpanProcessor].
func (q *queue) OnStart(context.Context, sdk.ReadWriteSpan) {}

// OnEnd implements [sdk.SpanProcessor]. It does not block: where there is no room, the span is dropped.
func (q *queue) OnEnd(s sdk.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	if q.waiting.Add(1) > q.room {
		q.waiting.Add(-1)
		q.dropped.WithLabelValues(droppedFull).Inc()
		return
	}
	q.batches.OnEnd(s)
}

// ForceFlush implements [sdk.SpanProcessor].
func (q *queue) ForceFlush(ctx context.Context) error { return q.batches.ForceFlush(ctx) }

// Shutdown implements [sdk.SpanProcessor].
func (q *queue) Shutdown(ctx context.Context) error { return q.batches.Shutdown(ctx) }

// Describe implements prometheus.Collector.
func (q *queue) Describe(to chan<- *prometheus.Desc) {
	q.sent.Describe(to)
	q.dropped.Describe(to)
}

// Collect implements prometheus.Collector.
func (q *queue) Collect(to chan<- prometheus.Metric) {
	q.sent.Collect(to)
	q.dropped.Collect(to)
}

// counted is the exporter for batches of spans: each batch gives back the room of its spans.
type counted struct{ *queue }

// ExportSpans implements [sdk.SpanExporter]. Spans that the collector does not accept are counted, with a warning once
// in a while.
func (c counted) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	defer c.waiting.Add(-int64(len(spans)))
	err := c.exporter.ExportSpans(ctx, spans)
	if err == nil {
		c.sent.Add(float64(len(spans)))
		return nil
	}
	c.dropped.WithLabelValues(droppedFailed).Add(float64(len(spans)))
	now, last := time.Now().Unix(), c.complained.Load()
	if now-last >= int64(complainAgain/time.Second) && c.complained.CompareAndSwap(last, now) {
		c.logger.Warn("the collector of traces does not take them; these spans are lost, and nothing else", "spans",
			len(spans), "error", err)
	}
	return nil // the warning above is enough; the SDK would print the error again
}

// Shutdown implements [sdk.SpanExporter].
func (c counted) Shutdown(ctx context.Context) error { return c.exporter.Shutdown(ctx) }
