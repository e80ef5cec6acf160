package ops

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

func record(t *testing.T, h http.Handler, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	authorize(req)
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, req)
	return rec
}

func get(t *testing.T, h http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	return record(t, h, "GET", path, "")
}

type stubScripts struct{ sandbox.Executor }

// stubConnectors are those of an engine that never runs.
type stubConnectors struct{ outside }

type outside = engine.Connectors

func (stubConnectors) OnLate(func(connector.Call, connector.Outcome)) {}

// TestActor: the local token gives no name; the caller claims one, or there is none.
func TestActor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	b.client.Actor = "Änne"
	b.do("pauseWorkflow", map[string]any{"workflow": "shop"}, nil)
	checkActorOf(t, b, "workflow.paused", eventlog.Actor{Kind: "user", Name: "Änne"})
	b.client.Actor = ""
	b.do("resumeWorkflow", map[string]any{"workflow": "shop"}, nil)
	checkActorOf(t, b, "workflow.resumed", eventlog.Actor{Kind: "api", Name: "anonymous"})
}

func checkActorOf(t *testing.T, b *bundle, kind eventlog.FactType, want eventlog.Actor) {
	t.Helper()
	found := false
	for r, err := range b.bench.Log.Read(t.Context(), 0, 1) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind == kind {
			found = true
			if r.Actor != want {
				t.Errorf("%s by %+v, want %+v", kind, r.Actor, want)
			}
		}
	}
	if !found {
		t.Errorf("there is no %s", kind)
	}
}
