package ops

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
	"github.com/pawl-run/pawl/ops/backup"
	"github.com/pawl-run/pawl/ops/doctor"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
	"github.com/pawl-run/pawl/sandbox/worker"
)

// orders is a workflow that makes one call per order, and polls an empty list every hour.
func orders(name, operation string) string {
	return fmt.Sprintf(`
export default Keep.workflow({
  name: %q,
  topics: { "order.in": {}, "order.sent": {} },
  producers: { poll: { interval: "1h", async handler(ctx) { await ctx.world.list({}); return { polled: true }; } } },
  consumers: {
    send: Keep.consumer({
      subscribe: ["order.in"],
      async prepare(ctx) {
        const [event] = await ctx.peek("order.in");
        if (!event) return { reservations: [], data: null };
        if (event.payload && event.payload.crash) throw new Error("cannot read order " + event.id);
        return { reservations: [{ topic: event.topic, ids: [event.id] }], data: { order: event.id }, ui: { title: "Send " + event.id } };
      },
      async mutate(ctx, prepared) { await ctx.world.%s({ order: prepared.data.order }); },
      async next(ctx, prepared, result) {
        if (result.status === "applied") {
          await ctx.publish("order.sent", { messageId: "sent:" + prepared.data.order, title: "Sent " + prepared.data.order, payload: result.result });
        }
      },
    }),
  },
});
`, name, operation)
}

// bundle is a real engine behind a real HTTP server.
type bundle struct {
	t      testing.TB
	bench  *enginetest.Harness
	engine *enginetest.Engine
	server *Server
	http   *httptest.Server
	client *rpc.Client
}

// testToken opens the engines of these tests.
const testToken = "pawl_token-of-the-tests"

// authorize sends the token with a raw request.
func authorize(req *http.Request) { req.Header.Set("Authorization", "Bearer "+testToken) }

type setting func(*Config, *enginetest.Harness)

func setup(t testing.TB, settings ...setting) *bundle {
	t.Helper()
	return setupOn(t, memlog.New(memlog.Config{}), settings...)
}

func setupOn(t testing.TB, log eventlog.Log, settings ...setting) *bundle {
	t.Helper()
	b := &bundle{t: t, bench: enginetest.NewOn(t, log)}
	registry, err := connector.NewRegistry(b.bench.World)
	if err != nil {
		t.Fatalf("register the world: %v", err)
	}
	cfg := Config{Token: testToken, Log: log, Connectors: deploy.CatalogOf(registry), Version: "1.2.3",
		Doctor:       func(_ context.Context, r *doctor.HealthReport) { r.Add("test", doctor.OK, "all is well") },
		Installation: "test", Logger: b.bench.Logger, Source: func() backup.Source {
			return backup.Source{Installation: "test", Engines: []string{}}
		},
		Workers: func() worker.Report {
			return worker.Report{Sandbox: "full", Size: 2, Restarts: 3, Deaths: map[string]uint64{"limit.memory": 2},
				Workers: []worker.ProcessReport{{PID: 5, Sandbox: "full", State: "idle", Memory: 7}}}
		}}
	for _, set := range settings {
		set(&cfg, b.bench)
	}
	b.engine = b.bench.Start()
	cfg.Engine = b.engine.Engine
	cfg.Reader = &readmodel.Reader{Store: b.bench.Store, Flush: b.engine.Flush}
	if b.server, err = New(cfg); err != nil {
		t.Fatalf("make a server: %v", err)
	}
	b.http = httptest.NewServer(b.server.Handler())
	t.Cleanup(func() { b.server.Close(); b.http.Close() })
	b.client = &rpc.Client{Operations: Table(), URL: b.http.URL, Actor: "ann", Token: cfg.Token}
	return b
}

// document is the OpenAPI document.
func (b *bundle) document() []byte {
	b.t.Helper()
	document, err := b.server.openapi()
	if err != nil {
		b.t.Fatal(err)
	}
	return document
}

// deploy deploys orders under the name; each call is allowed, asked for or denied.
func (b *bundle) deploy(name, operation string, grant eventlog.Grant) {
	b.t.Helper()
	b.do("deployWorkflow", map[string]any{
		"source": orders(name, operation), "filename": "orders.ts", "grants": map[string]any{"*": grant},
	}, nil)
	b.engine.Rest(eventlog.WorkflowName(name))
}

func (b *bundle) push(name string, ids ...string) {
	b.t.Helper()
	var events []map[string]any
	for _, id := range ids {
		events = append(events, map[string]any{"messageId": id, "title": "Order " + id, "payload": map[string]any{"id": id}})
	}
	b.do("pushEvents", map[string]any{"workflow": name, "topic": "order.in", "events": events}, nil)
}

// do calls an operation that must succeed.
func (b *bundle) do(id string, params, out any) {
	b.t.Helper()
	if err := b.client.Do(b.t.Context(), id, params, out); err != nil {
		var p *rpc.Problem
		errors.As(err, &p)
		b.t.Fatalf("%s: %v (%+v)", id, err, p)
	}
}

// refused calls an operation that must be refused.
func (b *bundle) refused(id string, params any) *rpc.Problem {
	b.t.Helper()
	err := b.client.Do(b.t.Context(), id, params, nil)
	var p *rpc.Problem
	if !errors.As(err, &p) {
		b.t.Fatalf("%s: got %v, want a problem", id, err)
	}
	if p.Hint == "" {
		b.t.Errorf("%s: %s has no hint: %+v", id, p.Code, p)
	}
	return p
}

// request sends a raw request and returns the response with its body.
func (b *bundle) request(method, path, body string, headers ...string) (*http.Response, []byte) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.http.URL+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	authorize(req)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return res, text
}

// only returns the id of the only mutation.
func (b *bundle) only(name string) string {
	b.t.Helper()
	var page readmodel.Page[readmodel.Mutation]
	b.do("listWorkflowMutations", map[string]any{"workflow": name}, &page)
	if len(page.Items) != 1 {
		b.t.Fatalf("%d mutations, want 1", len(page.Items))
	}
	return string(page.Items[0].ID)
}

// last returns where the log ends.
func (b *bundle) last() uint64 {
	b.t.Helper()
	last, err := b.bench.Log.Last(b.t.Context(), 0)
	if err != nil {
		b.t.Fatal(err)
	}
	return last
}

// uncertain makes every call end with its outcome unknown.
func (b *bundle) uncertain() {
	b.bench.World.OnPerform(func(context.Context, connector.Call) connector.Outcome {
		return connector.Outcome{Status: connector.Uncertain, Failure: enginetest.Failing(eventlog.Transient, "call.timeout")}
	})
}

// schemas validates answers against the OpenAPI document.
type schemas struct {
	t        testing.TB
	document map[string]any
	compiler *jsonschema.Compiler
}

func newSchemas(t testing.TB, document []byte) *schemas {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	s := &schemas{t: t, document: parsed.(map[string]any), compiler: jsonschema.NewCompiler()}
	s.compiler.DefaultDraft(jsonschema.Draft2020)
	if err := s.compiler.AddResource("http://pawl.test/openapi.json", parsed); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *schemas) validate(o *Operation, status string, media string, answer []byte) {
	s.t.Helper()
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D")
	pointer := fmt.Sprintf("#/paths/%s/%s/responses/%s/content/%s/schema", escape.Replace(o.Path),
		strings.ToLower(o.Method), status, escape.Replace(media))
	schema, err := s.compiler.Compile("http://pawl.test/openapi.json" + pointer)
	if err != nil {
		s.t.Fatalf("%s has no usable schema for %s: %v", o.ID, status, err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(answer))
	if err != nil {
		s.t.Fatalf("%s answered no JSON: %v\n%s", o.ID, err, answer)
	}
	if err := schema.Validate(value); err != nil {
		s.t.Errorf("%s: the answer does not fit its schema: %v\n%s", o.ID, err, answer)
	}
}

// await bounds what a test waits for.
func await(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func mustJSON(t testing.TB, text []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

func keys(v map[string]any) []string {
	var names []string
	for name := range v {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func listOf(v any) []any {
	list, _ := v.([]any)
	return list
}
