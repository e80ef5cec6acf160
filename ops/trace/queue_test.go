package trace

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// collector is one whose answer a test gives.
type collector struct {
	asked  chan int
	answer chan error
}

func (c *collector) ExportSpans(_ context.Context, spans []sdk.ReadOnlySpan) error {
	c.asked <- len(spans)
	return <-c.answer
}

func (c *collector) Shutdown(context.Context) error { return nil }

// A collector that does not answer holds nothing up: what finds no room is dropped and counted, and so is what it
// refuses.
func TestWhatFindsNoRoomIsCounted(t *testing.T) {
	t.Parallel()
	c := &collector{asked: make(chan int), answer: make(chan error)}
	var said strings.Builder
	q := newQueue(c, 4, slog.New(slog.NewTextHandler(&said, nil)))
	spans := sdk.NewTracerProvider(sdk.WithSpanProcessor(q), sdk.WithSampler(sdk.AlwaysSample())).Tracer("test")
	end := func(n int) {
		for range n {
			_, span := spans.Start(t.Context(), "span")
			span.End()
		}
	}
	end(4)
	if n := <-c.asked; n != 4 { // and is not answered
		t.Errorf("%d spans were sent, want 4", n)
	}
	end(3) // the four take their room until they are answered
	wantFigures(t, q, 0, 3, 0)
	c.answer <- nil
	if err := q.ForceFlush(t.Context()); err != nil { // the room is given back right after the answer
		t.Fatal(err)
	}
	end(2)
	if n := <-c.asked; n != 2 {
		t.Errorf("%d spans were sent, want 2", n)
	}
	c.answer <- errors.New("unavailable")
	if err := q.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantFigures(t, q, 4, 3, 2)
	if text := said.String(); strings.Count(text, "does not take them") != 1 || !strings.Contains(text, "unavailable") {
		t.Errorf("said: %s", text)
	}
	end(1) // after the end: nothing waits for it
}

func wantFigures(t *testing.T, q *queue, sent, full, refused float64) {
	t.Helper()
	for name, c := range map[string]struct {
		counter prometheus.Counter
		want    float64
	}{
		"sent": {q.sent, sent}, "no room": {q.dropped.WithLabelValues(droppedFull), full},
		"refused": {q.dropped.WithLabelValues(droppedFailed), refused},
	} {
		if got := testutil.ToFloat64(c.counter); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
