package ops

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

func record(t *testing.T, h http.Handler, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
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

func TestCheckListen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		addr     string
		tls      bool
		token    string
		insecure bool
		ok       bool
	}{
		{"127.0.0.1:7070", false, "", false, true},
		{"127.8.9.10:0", false, "", false, true},
		{"[::1]:7070", false, "", false, true},
		{"localhost:7070", false, "", false, true},
		{"0.0.0.0:7070", false, "", false, false},
		{":7070", false, "", false, false},
		{"[::]:7070", false, "", false, false},
		{"192.168.1.5:7070", true, "", false, false},
		{"192.168.1.5:7070", false, "secret", false, false},
		{"192.168.1.5:7070", true, "secret", false, true},
		{"192.168.1.5:7070", false, "", true, true},
		{"localhost.example.com:7070", false, "", false, false},
		{"7070", false, "", true, false},
	} {
		if err := CheckListen(c.addr, c.tls, c.token, c.insecure); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestWhoMayCall: a loopback engine is closed to web pages, whatever name they come by.
func TestWhoMayCall(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	for name, c := range map[string]struct {
		method  string
		headers []string
		status  int
		code    string
	}{
		"plain":                 {"POST", nil, 200, ""},
		"localhost":             {"POST", []string{"Host", "localhost:7070"}, 200, ""},
		"IPv6":                  {"POST", []string{"Host", "[::1]:7070"}, 200, ""},
		"rebound name":          {"POST", []string{"Host", "evil.example.com"}, 403, "host.forbidden"},
		"rebound name, reading": {"GET", []string{"Host", "evil.example.com:7070"}, 403, "host.forbidden"},
		"name like loopback":    {"POST", []string{"Host", "127.0.0.1.example.com"}, 403, "host.forbidden"},
		"other origin":          {"POST", []string{"Origin", "https://evil.example.com"}, 403, "origin.forbidden"},
		"cross-site fetch":      {"POST", []string{"Sec-Fetch-Site", "cross-site"}, 403, "origin.forbidden"},
		"same-origin fetch":     {"POST", []string{"Sec-Fetch-Site", "same-origin"}, 200, ""},
	} {
		path := "/v1/workflows/shop/resume"
		if c.method == "GET" {
			path = "/v1/workflows"
		}
		before := b.last()
		res, body := b.request(c.method, path, "", c.headers...)
		if res.StatusCode != c.status || c.code != "" && mustJSON(t, body)["code"] != c.code {
			t.Errorf("%s: %d %s", name, res.StatusCode, body)
		}
		if b.last() != before {
			t.Errorf("%s: something was recorded", name)
		}
	}
	for _, media := range []string{"application/json", "application/json; charset=utf-8", "Application/JSON"} {
		if res, body := b.request("POST", "/v1/validate", `{"source":""}`, "Content-Type", media); res.StatusCode != 200 {
			t.Errorf("%s: %d %s", media, res.StatusCode, body)
		}
	}
}

// TestToken: with a token everything but health asks for it, and it names the actor.
func TestToken(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config, _ *enginetest.Bench) { c.Token, c.TokenName = "s3cret", "operator" })
	b.deploy("shop", "send", eventlog.GrantAllow)
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 401, "/v1/workflows": 401, "/v1/openapi.json": 401, "/nothing": 401, "/v1/log": 401} {
		if res, body := b.request("GET", path, ""); res.StatusCode != want || want == 401 && res.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s without token: %d %s", path, res.StatusCode, body)
		}
	}
	for header, want := range map[string]int{"Bearer s3cret": 200, "bearer s3cret": 200, "Bearer wrong": 401, "Bearer ": 401, "Basic s3cret": 401, "s3cret": 401} {
		if res, _ := b.request("GET", "/v1/workflows", "", "Authorization", header); res.StatusCode != want {
			t.Errorf("%q: %d, want %d", header, res.StatusCode, want)
		}
	}
	b.client.Actor = "somebody else"
	b.do("pauseWorkflow", map[string]any{"workflow": "shop"}, nil)
	checkActorOf(t, b, "workflow.paused", eventlog.Actor{Kind: "user", Name: "operator", Verified: true})
}

// TestActor: without a token the name is a claim, or there is none.
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

// TestExposed: a listener beyond loopback answers to any name; that is what its token is for.
func TestExposed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for addr, want := range map[string]int{"127.0.0.1": 403, "::1": 403, "0.0.0.0": 200, "192.168.1.5": 200} {
		ctx := exposed(t.Context(), &net.TCPAddr{IP: net.ParseIP(addr), Port: 7070})
		req := httptest.NewRequestWithContext(ctx, "GET", "http://pawl.example.com/v1/workflows", nil)
		rec := httptest.NewRecorder()
		b.server.Handler().ServeHTTP(rec, req)
		if rec.Code != want {
			t.Errorf("listening on %s: %d, want %d", addr, rec.Code, want)
		}
	}
}
