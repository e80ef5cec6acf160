package httpcall_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/httpcall"
)

func TestReconcile(t *testing.T) {
	status, asked := 0, ""
	_, address := server(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.RequestURI
		w.WriteHeader(status)
		io.WriteString(w, `{"id":7}`)
	})
	r := client(t, address, func(_ *httpcall.Config, h *httpcall.HostConfig) {
		h.Reconcile = &httpcall.ReconcileConfig{Get: "/orders?key={idempotencyKey}&x=1",
			Applied: httpcall.Rule{Status: 200}, Failed: httpcall.Rule{Status: 404}}
	})
	call := mutation("post", map[string]any{"url": "http://" + address + "/orders", "body": 1})
	if !r.Reconciles(call) {
		t.Fatal("a host with reconcile does not reconcile")
	}
	for _, c := range []struct {
		status int
		want   connector.Verdict
	}{{200, connector.VerdictApplied}, {404, connector.VerdictFailed}, {500, connector.VerdictRetry},
		{302, connector.VerdictRetry}, {201, connector.VerdictRetry}} {
		status = c.status
		got := r.Reconcile(t.Context(), call)
		if got.Verdict != c.want {
			t.Errorf("%d: verdict %v (%v), want %v", c.status, got.Verdict, got.Failure, c.want)
		}
		if want := "GET /orders?key=key%201%2F%C3%A4&x=1"; asked != want {
			t.Errorf("asked %s, want %s", asked, want)
		}
		if c.want == connector.VerdictApplied && string(decode(t, got.Result).Body) != `{"id":7}` {
			t.Errorf("result = %s", got.Result)
		}
	}
}

func TestAHostWithoutReconcileDoesNotReconcile(t *testing.T) {
	r := client(t, "", func(c *httpcall.Config, _ *httpcall.HostConfig) {
		c.Hosts = map[string]httpcall.HostConfig{
			"a.example": {Reconcile: &httpcall.ReconcileConfig{Get: "/?k={idempotencyKey}",
				Applied: httpcall.Rule{Status: 200}}},
			"b.example": {},
		}
	})
	if op, _ := r.Operation("http", "post"); !op.Reconciles {
		t.Error("the operation does not reconcile")
	}
	if !r.Reconciles(mutation("post", map[string]any{"url": "https://a.example/"})) ||
		r.Reconciles(mutation("post", map[string]any{"url": "https://b.example/"})) {
		t.Error("reconciling does not depend on the host")
	}
}
