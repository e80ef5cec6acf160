package lifecycle_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/httpcall"
	"github.com/pawl-run/pawl/engine/connector/openapi"
	"github.com/pawl-run/pawl/eventlog"
)

const storeDescription = `openapi: 3.0.3
info: {title: Store, version: "1"}
paths:
  /items/{id}:
    get:
      operationId: getItem
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      responses: {"200": {description: ok}}
  /orders:
    post:
      operationId: createOrder
      requestBody:
        required: true
        content: {application/json: {schema: {type: object, required: [item, total], properties: {
          item: {type: string}, total: {type: number}}}}}
      responses: {"201": {description: made}}
`

// described is a service that a description makes a connector of. It answers each request as the test says.
type described struct {
	mu          sync.Mutex
	item, order int // the statuses of its answers
	posts, keys []string
}

func (d *described) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodGet {
		w.WriteHeader(d.item)
		fmt.Fprintf(w, `{"path": %q, "total": 20}`, r.URL.Path)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	d.posts = append(d.posts, r.Method+" "+r.URL.Path+" "+string(body))
	d.keys = append(d.keys, r.Header.Get("Idempotency-Key"))
	w.WriteHeader(d.order)
	_, _ = io.WriteString(w, `{"number": 7}`)
}

// A described service is called as any other connector: a read in prepare, one change that the ledger knows, and
// failures that are classed.
func TestDescribedServiceIsCalled(t *testing.T) {
	for name, c := range map[string]struct {
		item, order int
		total       string // what mutate sends
		posts       int
		event       string
		mutation    eventlog.MutationStatus // empty for none
		class       eventlog.Class
		code        string
	}{
		"applied":      {200, 201, "data.total", 1, "consumed", eventlog.MutationStatusApplied, "", ""},
		"refused":      {200, 422, "data.total", 1, "pending", eventlog.MutationStatusFailed, eventlog.Logic, "http.status"},
		"unknown":      {200, 502, "data.total", 1, "reserved", eventlog.MutationStatusIndeterminate, "", ""},
		"no such item": {404, 201, "data.total", 0, "pending", "", eventlog.Precondition, "http.status"},
		"other kind": {200, 201, "String(data.total)", 0, "pending", eventlog.MutationStatusFailed, eventlog.Logic,
			connector.CodeParams},
	} {
		t.Run(name, func(t *testing.T) {
			service := &described{item: c.item, order: c.order}
			web := httptest.NewServer(service)
			t.Cleanup(web.Close)
			path := filepath.Join(t.TempDir(), "store.yaml")
			if err := os.WriteFile(path, []byte(storeDescription), 0o600); err != nil {
				t.Fatal(err)
			}
			store, err := openapi.New(openapi.Config{Name: "store", Description: path, URL: web.URL + "/v1",
				Host: httpcall.HostConfig{Private: true}, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = store.Close() })
			l := liveUnder(t)
			l.bench.Others = []connector.Connector{store}
			l.restart()
			l.deploy(shop{prepare: `
				const { body } = await ctx.store.getItem({ id: order.id });
				return { reservations: [{ topic: "orders", ids: [order.id] }],
					data: { order: order.id, path: body.path, total: body.total }, ui: { title: "Order " + order.id } };`,
				mutate: `await ctx.store.createOrder({ body: { item: data.path, total: ` + c.total + ` } });`})
			l.push("a")

			l.wantEvent("a", c.event)
			service.mu.Lock()
			posts, keys := service.posts, service.keys
			service.mu.Unlock()
			if len(posts) != c.posts || c.posts == 1 && (keys[0] == "" ||
				posts[0] != `POST /v1/orders {"item":"/v1/items/a","total":20}`) {
				t.Errorf("sent %q with the keys %q", posts, keys)
			}
			if c.mutation == "" {
				if made := l.mutations(); len(made) != 0 {
					t.Errorf("the ledger has %+v", made)
				}
			} else if m := l.mutation(); m.Status != c.mutation || m.Connector != "store" || m.Operation != "createOrder" ||
				c.mutation == eventlog.MutationStatusApplied && !strings.Contains(string(m.Result), `"number":7`) {
				t.Errorf("the ledger has %+v", m)
			}
			if run := l.run("send"); c.class != "" && (run.Error == nil || run.Error.Class != c.class ||
				run.Error.Code != c.code) {
				t.Errorf("the run's error: %+v", run.Error)
			}
			l.sound()
		})
	}
}
