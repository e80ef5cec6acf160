package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// tracedWorkflow reads and changes something outside, and is told of orders by pushes and by a hook.
const tracedWorkflow = `
export default Pawl.workflow({
  name: "orders",
  topics: { "in": {}, "sent": {} },
  hooks: { shop: Pawl.hook({ topic: "in", verify: "none", id: "{body:id}", title: "Order {body:id}" }) },
  producers: { poll: { interval: "1h", async handler(ctx) { return {}; } } },
  consumers: {
    book: Pawl.consumer({
      subscribe: ["in"],
      async prepare(ctx) {
        const [order] = await ctx.peek("in", { limit: 1 });
        if (!order) return { reservations: [], data: null };
        await ctx.http.get({ url: "http://SINK/stock" });
        return { reservations: [{ topic: "in", ids: [order.messageId] }], data: order.messageId };
      },
      async mutate(ctx, { data }) { await ctx.http.post({ url: "http://SINK/orders", body: { id: data } }); },
      async next(ctx, { data }) {
        if (data) await ctx.publish("sent", { messageId: data, title: "Sent " + data, payload: null });
      },
    }),
  },
});
`

// collected is a collector of traces.
type collected struct {
	mu    sync.Mutex
	grown *sync.Cond
	spans []*tracepb.Span
	raw   bytes.Buffer
	paths []string
}

func newCollected(t *testing.T) (*collected, string) {
	t.Helper()
	c := &collected{}
	c.grown = sync.NewCond(&c.mu)
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	return c, server.URL
}

func (c *collected) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var export collectorpb.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &export)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Write(body)
	c.paths = append(c.paths, r.URL.Path)
	for _, of := range export.ResourceSpans {
		for _, scope := range of.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
	c.grown.Broadcast()
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// span waits for one that is as wanted.
func (c *collected) span(t *testing.T, what string, wanted func(*tracepb.Span) bool) *tracepb.Span {
	t.Helper()
	late := false
	defer time.AfterFunc(longest, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		late = true
		c.grown.Broadcast()
	}).Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if at := slices.IndexFunc(c.spans, wanted); at >= 0 {
			return c.spans[at]
		}
		if late {
			t.Fatalf("there is no span %s among:\n%s", what, c.list())
		}
		c.grown.Wait()
	}
}

func (c *collected) list() string {
	var text strings.Builder
	for _, s := range c.spans {
		fmt.Fprintf(&text, "%x %x < %x  %s %v\n", s.TraceId, s.SpanId, s.ParentSpanId, s.Name, s.Attributes)
	}
	return text.String()
}

// below waits for the span of this name whose parent is the given one.
func (c *collected) below(t *testing.T, parent *tracepb.Span, name string) *tracepb.Span {
	t.Helper()
	return c.span(t, fmt.Sprintf("%s below %s %x", name, parent.Name, parent.SpanId), func(s *tracepb.Span) bool {
		return s.Name == name && bytes.Equal(s.ParentSpanId, parent.SpanId) && bytes.Equal(s.TraceId, parent.TraceId)
	})
}

// named waits for the span of this name in the trace.
func (c *collected) named(t *testing.T, trace, name string) *tracepb.Span {
	t.Helper()
	return c.span(t, name+" in "+trace, func(s *tracepb.Span) bool {
		return s.Name == name && hex.EncodeToString(s.TraceId) == trace
	})
}

func attributeOf(s *tracepb.Span, key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// A run on an event that was brought in with a trace goes on with it: its phases and calls are spans there, and what is
// called is told which. Any other run has a trace of its own, whose id is the run's. A restart changes none of that,
// and nothing of what the work is about leaves.
func TestTraces(t *testing.T) {
	long(t)
	t.Parallel()
	c, collector := newCollected(t)
	var mu sync.Mutex
	heard := map[string][]string{}
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		heard[r.URL.Path] = append(heard[r.URL.Path], r.Header.Get("traceparent"))
		mu.Unlock()
		_, _ = io.WriteString(w, `{}`)
	}))
	t.Cleanup(sink.Close)
	host := strings.TrimPrefix(sink.URL, "http://")
	dir := place(t, map[string]string{
		"orders.ts": strings.ReplaceAll(tracedWorkflow, "SINK", host),
		"pawl.yaml": "connectors: {http: {hosts: {\"" + host + "\": {private: true}}}}\ntraces: " + collector + "\n",
	})
	p := startDaemon(t, dir, "pawl", "up", "orders.ts", "--data", "data")
	push := func(path, id, traceparent string) {
		t.Helper()
		body := `{"messageId": "` + id + `", "title": "private title", "payload": {"card": "private 4111"}}`
		if strings.HasPrefix(path, "/hooks/") {
			body = `{"id": "` + id + `", "card": "private 4111"}`
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		token, err := p.token()
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+token)
		if traceparent != "" {
			req.Header.Set("traceparent", traceparent)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode >= 300 {
			t.Fatalf("push to %s: %d", path, res.StatusCode)
		}
	}
	const events = "/v1/workflows/orders/topics/in/events"
	const first, second, third = "4bf92f3577b34da6a3ce929d0e0e4736", "aaf92f3577b34da6a3ce929d0e0e4736",
		"bbf92f3577b34da6a3ce929d0e0e4736"
	header := func(trace string) string { return "00-" + trace + "-00f067aa0ba902b7-01" }

	// The look that the deploy asks for must not take the first order for what it has begun with.
	c.span(t, "orders book of the deploy", func(s *tracepb.Span) bool { return s.Name == "orders book" })
	push(events, "o-1", header(first))
	run := c.named(t, first, "orders book")
	if hex.EncodeToString(run.ParentSpanId) != "00f067aa0ba902b7" {
		t.Errorf("the run lies below %x, want the span of its sender", run.ParentSpanId)
	}
	if pushed := c.named(t, first, "push orders in"); attributeOf(pushed, "pawl.message_id") != "o-1" {
		t.Errorf("the push is %v", pushed)
	}
	read := c.below(t, c.below(t, run, "prepare"), "read http.get")
	call := c.below(t, c.below(t, run, "call"), "mutate http.post")
	c.below(t, run, "next")
	for path, span := range map[string]*tracepb.Span{"/stock": read, "/orders": call} {
		mu.Lock()
		if want := fmt.Sprintf("00-%s-%x-01", first, span.SpanId); !slices.Contains(heard[path], want) {
			t.Errorf("%s was told of %s, want %s", path, heard[path], want)
		}
		mu.Unlock()
		if attributeOf(span, "server.address") != host {
			t.Errorf("the call is %v", span)
		}
	}
	if run.StartTimeUnixNano > read.StartTimeUnixNano || run.EndTimeUnixNano < call.EndTimeUnixNano {
		t.Errorf("the run lasted from %d to %d, its read began at %d, and its call ended at %d", run.StartTimeUnixNano,
			run.EndTimeUnixNano, read.StartTimeUnixNano, call.EndTimeUnixNano)
	}

	push("/hooks/orders/shop", "o-2", header(second))
	c.below(t, c.below(t, c.named(t, second, "orders book"), "call"), "mutate http.post")

	push(events, "o-3", "")
	own := c.span(t, "of an untraced event", func(s *tracepb.Span) bool {
		return s.Name == "orders book" && attributeOf(s, "pawl.message_id") == "o-3"
	})
	if id := ulid.MustParse(attributeOf(own, "pawl.run")); !bytes.Equal(own.TraceId, id[:]) || len(own.ParentSpanId) > 0 {
		t.Errorf("run %s is in trace %x below %x, want one of its own", id, own.TraceId, own.ParentSpanId)
	}
	c.span(t, "of a producer", func(s *tracepb.Span) bool { return s.Name == "orders poll" && len(s.ParentSpanId) == 0 })

	mustRun(t, dir, 0, "pawl", "pause", "orders", "--data", "data")
	push(events, "o-4", header(third))
	p.stop()
	p = startDaemon(t, dir, "pawl", "up", "orders.ts", "--data", "data", "--traces", collector+"/v1/traces")
	mustRun(t, dir, 0, "pawl", "resume", "orders", "--data", "data")
	c.below(t, c.below(t, c.named(t, third, "orders book"), "call"), "mutate http.post")
	figures := string(p.call(http.StatusOK, http.MethodGet, "/metrics", nil))
	mustSay(t, figures, `^pawl_trace_spans_dropped_total\{reason="queue"\} 0$`)
	mustSay(t, figures, `^pawl_trace_spans_sent_total \d+$`)
	p.stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	if bytes.Contains(c.raw.Bytes(), []byte("private")) {
		t.Error("what the work is about was sent to the collector")
	}
	if c.paths[0] != "/v1/traces" || c.paths[len(c.paths)-1] != "/v1/traces" {
		t.Errorf("spans were sent to %v", c.paths)
	}
}

// Without a collector no trace is made, and the log keeps nothing of one: an older version can read it.
func TestNoTraces(t *testing.T) {
	t.Parallel()
	var told []string
	var mu sync.Mutex
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		told = append(told, r.Header.Get("traceparent"))
		mu.Unlock()
		_, _ = io.WriteString(w, `{}`)
	}))
	t.Cleanup(sink.Close)
	host := strings.TrimPrefix(sink.URL, "http://")
	dir := place(t, map[string]string{
		"orders.ts": strings.ReplaceAll(tracedWorkflow, "SINK", host),
		"pawl.yaml": "connectors: {http: {hosts: {\"" + host + "\": {private: true}}}}\n",
	})
	p := startDaemon(t, dir, "pawl", "up", "orders.ts", "--data", "data")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/hooks/orders/shop",
		strings.NewReader(`{"id": "o-1"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != http.StatusAccepted {
		t.Fatalf("%v %+v", err, res)
	}
	_ = res.Body.Close()
	p.atRest("orders")
	log := mustRun(t, dir, 0, "pawl", "log", "--data", "data", "--json")
	figures := string(p.call(http.StatusOK, http.MethodGet, "/metrics", nil))
	p.stop()
	if strings.Contains(log, "traceparent") || strings.Contains(figures, "pawl_trace_") {
		t.Errorf("something is traced:\n%s", log)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(told) != 2 || told[0] != "" || told[1] != "" {
		t.Errorf("the outside was told of traces: %q", told)
	}
}
