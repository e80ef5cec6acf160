package openapi

import (
	"encoding/json"
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
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/httpcall"
	"github.com/pawl-run/pawl/eventlog"
)

const shop = `openapi: 3.0.3
info: {title: Shop, version: "1"}
servers: [{url: "https://other.example.com"}]
paths:
  /orders/{id}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: string}}
    get:
      operationId: getOrder
      summary: Get an order
      parameters:
        - {name: fields, in: query, explode: false, schema: {type: array, items: {type: string}}}
        - {name: tag, in: query, schema: {type: array, items: {type: string}}}
        - {name: X-Region, in: header, schema: {type: string}}
        - {name: Authorization, in: header, required: true, schema: {type: string}}
      responses:
        "200": {description: ok, content: {application/json: {schema: {$ref: "#/components/schemas/Order"}}}}
    delete:
      responses: {"204": {description: gone}}
  /orders:
    post:
      operationId: create-order
      requestBody:
        required: true
        content: {application/json: {schema: {$ref: "#/components/schemas/Order"}}}
      responses:
        "201": {description: made, content: {application/json: {schema: {$ref: "#/components/schemas/Order"}}}}
  /files:
    put:
      operationId: putFile
      requestBody: {content: {application/octet-stream: {}}}
      responses: {"200": {description: ok}}
    head: {operationId: headFiles, responses: {"200": {description: ok}}}
components:
  schemas:
    Order:
      type: object
      required: [id, total]
      properties:
        id: {type: string, readOnly: true}
        total: {type: number, nullable: true, minimum: 0}
        parts: {type: array, items: {$ref: "#/components/schemas/Order"}}
`

// service is what is described, and what it was sent.
type service struct {
	*httptest.Server
	mu     sync.Mutex
	seen   []string
	status int
}

func (s *service) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := strings.Join(s.seen, "\n")
	s.seen = nil
	return seen
}

func setup(t *testing.T, description string, host httpcall.HostConfig) (*Connector, *service) {
	t.Helper()
	at := &service{status: http.StatusOK}
	at.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		at.mu.Lock()
		defer at.mu.Unlock()
		at.seen = append(at.seen, fmt.Sprintf("%s %s %s %s %s key=%t", r.Method, r.RequestURI, r.Header.Get("X-Region"),
			r.Header.Get("X-Token"), body, r.Header.Get("Idempotency-Key") != ""))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(at.status)
		fmt.Fprint(w, `{"id": "o-1", "total": 20, "token": "s3cret-token"}`)
	}))
	t.Cleanup(at.Close)
	path := filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(path, []byte(description), 0o600); err != nil {
		t.Fatal(err)
	}
	host.Private, host.Headers = true, map[string]string{"X-Token": "s3cret-token"}
	c, err := New(Config{Name: "shop", Description: path, URL: at.URL + "/v1/", Host: host,
		Secrets: []string{"s3cret-token"}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, at
}

func call(operation, params string) connector.Call {
	return connector.Call{Workflow: "w", Run: "r", Connector: "shop", Operation: operation, Key: "KEY",
		Params: json.RawMessage(params), StartedAt: time.Now(), Deadline: time.Now().Add(time.Minute)}
}

// GET is a read and everything else changes something; what cannot be called as it is described is left out.
func TestOperations(t *testing.T) {
	t.Parallel()
	c, _ := setup(t, shop, httpcall.HostConfig{})
	var said []string
	for _, o := range c.Operations() {
		said = append(said, fmt.Sprintf("%s %s %t %s", o.Name, o.Kind, o.Reconciles, o.Summary))
	}
	want := `create_order mutate false POST /orders
delete_orders_id mutate false DELETE /orders/{id}
getOrder list false GET /orders/{id} Get an order`
	if got := strings.Join(said, "\n"); got != want {
		t.Errorf("operations\n%s, want\n%s", got, want)
	}
	if _, err := connector.NewRegistry(c); err != nil {
		t.Error(err)
	}
	for name, parts := range map[string][]string{
		"create_order": {`"required":["body"]`, `"required":["total"]`, `"type":["number","null"]`, `"minimum":0`},
		"getOrder":     {`"required":["id"]`, `"X-Region"`},
	} {
		for _, part := range parts {
			if o := c.described[name]; !strings.Contains(string(o.Schema), part) {
				t.Errorf("the parameters of %s lack %s: %s", name, part, o.Schema)
			}
		}
	}
	if o := c.described["getOrder"]; strings.Contains(string(o.Schema), "Authorization") ||
		!strings.Contains(string(o.Result), `"body":{"properties":{"id":{"type":["string"]}`) {
		t.Errorf("parameters %s, result %s", o.Schema, o.Result)
	}
}

// What a call says goes where the description says, to the URL of the configuration.
func TestRequests(t *testing.T) {
	t.Parallel()
	c, at := setup(t, shop, httpcall.HostConfig{})
	got, err := c.Read(t.Context(), call("getOrder",
		`{"id": "a/b?{tag}", "fields": ["x", "y"], "tag": ["p", "q"], "X-Region": "eu"}`))
	if err != nil || !strings.Contains(string(got), `"total":20`) && !strings.Contains(string(got), `"total": 20`) ||
		strings.Contains(string(got), "s3cret") {
		t.Errorf("%s, %v", got, err)
	}
	want := "GET /v1/orders/a%2Fb%3F%7Btag%7D?fields=x%2Cy&tag=p&tag=q eu s3cret-token  key=false"
	if said := at.said(); said != want {
		t.Errorf("sent\n%s, want\n%s", said, want)
	}
	out := c.Perform(t.Context(), call("create_order", `{"body": {"total": 20, "note": "<b>"}}`))
	if out.Status != connector.Applied {
		t.Errorf("%+v %+v", out, out.Failure)
	}
	if said, want := at.said(), `POST /v1/orders  s3cret-token {"total":20,"note":"<b>"} key=true`; said != want {
		t.Errorf("sent\n%s, want\n%s", said, want)
	}
	for params, code := range map[string]string{`{}`: "openapi.path", `{"id": ".."}`: "openapi.path",
		`{"id": {"a": 1}}`: connector.CodeParams} {
		out := c.Perform(t.Context(), call("delete_orders_id", params))
		if out.Status != connector.Failed || out.Failure.Code != code || out.Failure.Class != eventlog.Logic {
			t.Errorf("%s: %+v %+v", params, out, out.Failure)
		}
	}
	if said := at.said(); said != "" {
		t.Errorf("sent\n%s", said)
	}
}

// What became of a call is asked where the configuration says how, and not known elsewhere.
func TestReconcile(t *testing.T) {
	t.Parallel()
	c, at := setup(t, shop, httpcall.HostConfig{})
	at.status = http.StatusBadGateway
	if out := c.Perform(t.Context(), call("create_order", `{"body": {"total": 1}}`)); out.Status != connector.Uncertain {
		t.Errorf("%+v %+v", out, out.Failure)
	}
	if c.ReconcilesCall(call("create_order", `{"body": {}}`)) {
		t.Error("it can be asked, and the configuration says not how")
	}
	asked, at := setup(t, shop, httpcall.HostConfig{Reconcile: &httpcall.ReconcileConfig{Get: "/calls/{idempotencyKey}",
		Applied: httpcall.Rule{Status: 200}, Failed: httpcall.Rule{Status: 404}}})
	if !asked.ReconcilesCall(call("create_order", `{"body": {}}`)) || !asked.described["create_order"].Reconciles {
		t.Error("it cannot be asked")
	}
	got := asked.Reconcile(t.Context(), call("create_order", `{"body": {}}`))
	if got.Verdict != connector.VerdictApplied || at.said() != "GET /calls/KEY  s3cret-token  key=false" {
		t.Errorf("%+v %+v", got, got.Failure)
	}
}

// A description that reaches beyond itself, or is none, is refused; one that is built to grow stays bounded.
func TestHostileDescriptions(t *testing.T) {
	t.Parallel()
	paths := func(schema string) string {
		return "openapi: 3.0.0\ninfo: {title: T, version: '1'}\npaths: {/a: {post: {operationId: a, requestBody: {content: " +
			"{application/json: {schema: " + schema + "}}}, responses: {'200': {description: ok}}}}}\n"
	}
	for name, c := range map[string]struct{ text, want string }{
		"another file":     {paths("{$ref: '/etc/passwd#/a'}"), "external"},
		"another host":     {paths("{$ref: 'http://127.0.0.1:1/a.yaml#/a'}"), "external"},
		"nothing":          {"", ""},
		"Swagger":          {"swagger: '2.0'\npaths: {}\n", "no OpenAPI 3"},
		"no paths":         {"openapi: 3.0.0\ninfo: {title: T, version: '1'}\n", "no paths"},
		"no operations":    {"openapi: 3.0.0\ninfo: {title: T, version: '1'}\npaths: {}\n", "no operation"},
		"a missing schema": {paths("{$ref: '#/components/schemas/B'}"), "B"},
	} {
		made, err := read([]byte(c.text), "http://a", func(string, error) {})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %d operations", name, err, len(made))
		}
	}
	grows := paths("{$ref: '#/components/schemas/S0'}") + "components:\n  schemas:\n"
	for i := range 30 {
		grows += fmt.Sprintf("    S%[1]d: {type: object, properties: {a: {$ref: '#/components/schemas/S%[2]d'}, "+
			"b: {$ref: '#/components/schemas/S%[2]d'}, c: {$ref: '#/components/schemas/S%[2]d'}}}\n", i, i+1)
	}
	made, err := read([]byte(grows+"    S30: {type: string}\n"), "http://a", func(string, error) {})
	if err != nil || len(made) != 1 || len(made[0].Schema) > 1<<20 {
		t.Errorf("a schema that grows: %v, %d operations", err, len(made))
	}
}

// Settings that cannot be are refused, by their key.
func TestSettings(t *testing.T) {
	t.Parallel()
	for key, config := range map[string]Config{
		"connectors.openapi.shop.description": {URL: "https://a"},
		"connectors.openapi.shop.url":         {Description: "a"},
	} {
		if err := config.Validate("shop"); err == nil || !strings.HasPrefix(err.Error(), key+": ") {
			t.Errorf("%s: %v", key, err)
		}
	}
	secret := Config{Description: "a", URL: "https://u:p@a"}
	if err := secret.Validate("shop"); err == nil || !strings.Contains(err.Error(), "host.headers") {
		t.Errorf("a password in the address: %v", err)
	}
}
