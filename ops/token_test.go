package ops

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
	"github.com/pawl-run/pawl/ops/auth"
	"github.com/pawl-run/pawl/ops/replay"
	"github.com/pawl-run/pawl/ops/rpc"
)

// create makes a named token.
func (b *bundle) create(name, role, workflow string) string {
	b.t.Helper()
	params := map[string]any{"name": name, "role": role}
	if workflow != "" {
		params["workflow"] = workflow
	}
	var created createTokenAnswer
	b.do("createToken", params, &created)
	if string(created.Name) != name || string(created.Role) != role || (created.Workflow == nil) != (workflow == "") ||
		workflow != "" && string(*created.Workflow) != workflow {
		b.t.Errorf("created %+v", created)
	}
	return created.Token
}

// with is the Authorization header of a token.
func with(token string) []string { return []string{"Authorization", "Bearer " + token} }

// A token opens what its role and its workflow are for, and is shown once.
func TestNamedTokens(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	b.deploy("other", "send", eventlog.GrantAllow)
	tokens := map[string]string{
		"viewer": b.create("viewer", "viewer", ""), "ingest": b.create("ingest", "ingest", ""),
		"operator": b.create("operator", "operator", ""),
		"admin":    b.create("admin", "admin", ""), "shop": b.create("shop", "admin", "shop"),
		"in": b.create("in", "ingest", "shop"),
	}
	event := `{"messageId":"1","title":"one"}`
	for _, c := range []struct {
		method, path, body string
		may                []string
	}{
		{"GET", "/v1/workflows", "", []string{"viewer", "operator", "admin", "shop"}},
		{"GET", "/v1/workflows/shop", "", []string{"viewer", "operator", "admin", "shop"}},
		{"GET", "/v1/workflows/other", "", []string{"viewer", "operator", "admin"}},
		{"GET", "/v1/workflows/other/runs", "", []string{"viewer", "operator", "admin"}},
		{"GET", "/v1/log?workflow=other", "", []string{"viewer", "operator", "admin"}},
		{"GET", "/v1/log", "", []string{"viewer", "operator", "admin", "shop"}},
		{"GET", "/metrics", "", []string{"viewer", "operator", "admin"}},
		{"POST", "/v1/workflows/shop/topics/order.in/events", event, []string{"ingest", "operator", "admin", "shop", "in"}},
		{"POST", "/v1/workflows/other/topics/order.in/events", event, []string{"ingest", "operator", "admin"}},
		{"POST", "/v1/workflows/shop/resume", "", []string{"operator", "admin", "shop"}},
		{"POST", "/v1/workflows/other/resume", "", []string{"operator", "admin"}},
		{"PATCH", "/v1/workflows/shop/grants", `{"*":"allow"}`, []string{"admin", "shop"}},
		{"GET", "/v1/caller", "", []string{"viewer", "operator", "admin", "shop"}},
		{"GET", "/v1/tokens", "", []string{"admin"}},
		{"POST", "/v1/tokens", `{"name":"more","role":"viewer"}`, []string{"admin"}},
		{"DELETE", "/v1/tokens/more", "", []string{"admin"}},
	} {
		for name, token := range tokens {
			res, body := b.request(c.method, c.path, c.body, with(token)...)
			if got := res.StatusCode < 300; got != slices.Contains(c.may, name) || !got &&
				res.StatusCode != http.StatusForbidden {
				t.Errorf("%s %s as %s: %d %s", c.method, c.path, name, res.StatusCode, body)
			}
			for _, secret := range tokens {
				if strings.Contains(string(body), secret) {
					t.Errorf("%s %s shows a token: %s", c.method, c.path, body)
				}
			}
			if strings.Contains(string(body), `"_pawl"`) || strings.Contains(string(body), "hash\":\"") &&
				c.path == "/v1/tokens" {
				t.Errorf("%s %s shows the installation: %s", c.method, c.path, body)
			}
		}
	}
	for what, token := range map[string]string{"longer": tokens["admin"] + "A",
		"shorter": tokens["admin"][:len(tokens["admin"])-1], "lower case": strings.ToLower(tokens["admin"]),
		"empty": auth.TokenPrefix} {
		if res, body := b.request("GET", "/v1/workflows", "", with(token)...); res.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", what, res.StatusCode, body)
		}
	}
	if _, body := b.request("GET", "/v1/caller", "", with(tokens["shop"])...); strings.TrimSpace(string(body)) !=
		`{"name":"shop","role":"admin","workflow":"shop"}` {
		t.Errorf("caller: %s", body)
	}
	var list struct{ Items []tokenView }
	b.do("listTokens", nil, &list)
	if len(list.Items) != len(tokens) || list.Items[0].Name != "viewer" || list.Items[0].CreatedBy.Name != "ann" ||
		list.Items[0].CreatedAt == 0 {
		t.Errorf("list: %+v", list)
	}
	for _, item := range list.Items {
		if item.Last4 == "" || !strings.HasSuffix(tokens[string(item.Name)], item.Last4) ||
			(item.Workflow != nil) != (item.Name == "shop" || item.Name == "in") {
			t.Errorf("list: %+v", item)
		}
	}
}

// What is done with a named token carries its name, whatever name the caller claims.
func TestTokenGivesTheName(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	ci := b.create("ci", "operator", "")
	claim := []string{rpc.ActorHeader, "somebody"}
	b.request("POST", "/v1/workflows/shop/pause", "", append(with(ci), claim...)...)
	b.request("POST", "/v1/workflows/shop/resume", "", claim...)
	var actors []eventlog.Actor
	for r, err := range b.bench.Log.ReadWorkflow(t.Context(), "shop", 1) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind == "workflow.paused" || r.Kind == "workflow.resumed" {
			actors = append(actors, r.Actor)
		}
	}
	want := []eventlog.Actor{{Kind: "user", Name: "ci", Verified: true}, {Kind: "user", Name: "somebody"}}
	if !slices.Equal(actors, want) {
		t.Errorf("%+v, want %+v", actors, want)
	}
}

// The installation is in the log, and in nothing that shows the log or the workflows.
func TestInstallationIsShownNowhere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	token := b.create("first", "viewer", "")
	b.deploy("shop", "send", eventlog.GrantAllow)
	b.create("second", "viewer", "")
	b.do("revokeToken", map[string]any{"name": "second"}, nil)
	facts := 0
	for r, err := range b.bench.Log.ReadWorkflow(t.Context(), eventlog.Installation, 1) {
		if err != nil {
			t.Fatal(err)
		}
		facts += len(r.Facts)
		if raw, err := eventlog.Encode(r.Transition); err != nil || strings.Contains(string(raw), token) {
			t.Errorf("the log holds a token (%v)", err)
		}
	}
	if facts != 3 {
		t.Errorf("the installation's past has %d facts, want 3", facts)
	}
	for _, path := range []string{"/v1/workflows", "/v1/why", "/v1/log", "/v1/runs", "/v1/events", "/v1/jobs",
		"/v1/diagnostics", "/metrics"} {
		for _, media := range []string{"application/json", "text/event-stream"} {
			if res, body := b.request("GET", path, "", "Accept", media); res.StatusCode != 200 ||
				strings.Contains(string(body), "_pawl") || strings.Contains(string(body), "token.") {
				t.Errorf("%s: %d %s", path, res.StatusCode, body)
			}
		}
	}
	// Pages go on behind what they do not show.
	var kinds []string
	for from, last := "", false; !last; {
		page := b.page("?limit=1&from=" + from)
		for _, item := range page.Items {
			kinds = append(kinds, item.Workflow)
		}
		if last = page.Next == nil; !last {
			from = *page.Next
		}
	}
	if len(kinds) == 0 || slices.ContainsFunc(kinds, func(w string) bool { return w != "shop" }) {
		t.Errorf("pages of %v", kinds)
	}
	before := b.last()
	for _, c := range [][2]string{
		{"GET", "/v1/workflows/_pawl"}, {"GET", "/v1/workflows/_pawl/state"}, {"GET", "/v1/workflows/_pawl/why"},
		{"GET", "/v1/log?workflow=_pawl"}, {"GET", "/v1/workflows/_pawl/runs"},
		{"POST", "/v1/workflows/_pawl/pause"}, {"POST", "/v1/workflows/_pawl/archive"},
		{"POST", "/v1/workflows/_pawl/run-now"},
	} {
		if res, body := b.request(c[0], c[1], ""); res.StatusCode != 400 {
			t.Errorf("%s %s: %d %s", c[0], c[1], res.StatusCode, body)
		}
	}
	if res, body := b.request("POST", "/v1/workflows/_pawl/topics/a/events",
		`{"messageId":"1","title":"t"}`); res.StatusCode != 404 {
		t.Errorf("push: %d %s", res.StatusCode, body)
	}
	if res, body := b.request("POST", "/v1/workflows", `{"source":`+
		quoted(t, orders("_pawl", "send"))+`}`); res.StatusCode != 422 {
		t.Errorf("deploy: %d %s", res.StatusCode, body)
	}
	if b.last() != before {
		t.Error("something was recorded")
	}
	var verified replay.Verification
	b.do("verifyLog", nil, &verified)
	if !verified.OK || verified.Workflows != 1 {
		t.Errorf("verify: %+v", verified)
	}
}

// A revocation acts at once: on the next request, and on what the caller has open.
func TestRevocationActsAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config, _ *enginetest.Harness) { c.KeepAlive = time.Hour })
	b.deploy("shop", "send", eventlog.GrantAllow)
	gone, stays := b.create("gone", "viewer", ""), b.create("stays", "viewer", "shop")
	open, own, other := b.follow("?follow=true", with(gone)...), b.follow("?follow=true&workflow=shop", with(gone)...),
		b.follow("?follow=true", with(stays)...)
	page := make(chan string, 1)
	last := fmt.Sprintf("0:%d", b.last()+1)
	go func() {
		_, body := b.request("GET", "/v1/log?follow=true&from="+last, "", append(with(gone), "Accept", "application/json")...)
		page <- string(body)
	}()
	for _, next := range []func() frame{open, own, other} {
		if next() == (frame{}) {
			t.Fatal("a stream has ended")
		}
	}
	b.do("revokeToken", map[string]any{"name": "gone"}, nil)
	if res, body := b.request("GET", "/v1/workflows", "", with(gone)...); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	for what, next := range map[string]func() frame{"all": open, "one": own} {
		for got := next(); got != (frame{}); got = next() {
			if decodeTransition(t, got.data).Kind == "workflow.paused" {
				t.Errorf("%s: the stream goes on", what)
			}
		}
	}
	b.do("pauseWorkflow", map[string]any{"workflow": "shop"}, nil)
	for decodeTransition(t, other().data).Kind != "workflow.paused" { // ends the test if it has ended
	}
	if body := <-page; strings.Contains(body, "workflow.paused") {
		t.Errorf("a request that waited is answered: %s", body)
	}
	if again := b.create("gone", "viewer", ""); again == gone {
		t.Error("the same token twice")
	}
	if res, _ := b.request("GET", "/v1/workflows", "", with(gone)...); res.StatusCode != http.StatusUnauthorized {
		t.Error("a new token with the name lets the old one in")
	}
}

// Tokens are in the log: the next engine knows them, and those that were revoked.
func TestTokensOutliveTheEngine(t *testing.T) {
	t.Parallel()
	log := memlog.New(memlog.Config{Partitions: 4})
	b := setupOn(t, log)
	ci, gone := b.create("ci", "viewer", ""), b.create("gone", "viewer", "")
	b.do("revokeToken", map[string]any{"name": "gone"}, nil)
	if err := b.engine.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, emptied := range []bool{false, true} { // the local store is of no importance
		next := setupOn(t, log, func(_ *Config, bench *enginetest.Harness) {
			if !emptied {
				bench.Store = b.bench.Store
			}
		})
		for token, want := range map[string]int{ci: 200, gone: 401} {
			if res, body := next.request("GET", "/v1/workflows", "", with(token)...); res.StatusCode != want {
				t.Errorf("emptied %t: %d %s, want %d", emptied, res.StatusCode, body, want)
			}
		}
		if err := next.engine.Stop(); err != nil {
			t.Fatal(err)
		}
	}
}

// Where the installation's past cannot be followed no named token opens anything; the local one does.
func TestTokensThatCannotBeFollowed(t *testing.T) {
	t.Parallel()
	log := memlog.New(memlog.Config{})
	b := setupOn(t, log)
	ci := b.create("ci", "admin", "")
	if err := b.engine.Stop(); err != nil {
		t.Fatal(err)
	}
	log.PutRaw(eventlog.Installation, []byte("garbage"))
	next := setupOn(t, log)
	if res, body := next.request("GET", "/v1/workflows", "", with(ci)...); res.StatusCode != 503 ||
		mustJSON(t, body)["code"] != "tokens.unknown" {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	if p := next.refused("createToken", map[string]any{"name": "x", "role": "viewer"}); p.Code != "workflow.stopped" {
		t.Errorf("%+v", p)
	}
	var found diagnosticsAnswer
	next.do("getDiagnostics", nil, &found)
	if len(found.Stopped) != 1 || found.Stopped[0].Workflow != eventlog.Installation {
		t.Errorf("diagnostics: %+v", found)
	}
}

// Over NATS a token is the same caller, with its name, role and workflow.
func TestNamedTokensOverNATS(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	b.deploy("other", "send", eventlog.GrantAllow)
	in := b.create("in", "ingest", "shop")
	nc := natstest.Connect(t, natstest.NewServer(t, natstest.Fast))
	service, err := b.server.StartNATS(rpc.NATSConfig{Conn: nc})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = service.Stop() }()
	for _, c := range []struct{ subject, body, code string }{
		{"pawl.in.shop.order.in", `{"messageId":"1","title":"one"}`, ""},
		{"pawl.in.other.order.in", `{"messageId":"1","title":"one"}`, "workflow.forbidden"},
		{"pawl.api.getWorkflow", `{"workflow":"shop"}`, "role.insufficient"},
		{"pawl.api.createToken", `{"name":"x","role":"admin"}`, "role.insufficient"},
	} {
		var got struct{ Code string }
		answer := ask(t, nc, c.subject, c.body, rpc.TokenHeader, in, rpc.ActorHeader, "somebody")
		if err := json.Unmarshal(answer.Data, &got); err != nil || got.Code != c.code {
			t.Errorf("%s: %v %s, want %q", c.subject, err, answer.Data, c.code)
		}
	}
	b.do("revokeToken", map[string]any{"name": "in"}, nil)
	if answer := ask(t, nc, "pawl.in.shop.order.in", `{"messageId":"2","title":"two"}`, rpc.TokenHeader, in); mustJSON(t,
		answer.Data)["code"] != "token.required" {
		t.Errorf("revoked: %s", answer.Data)
	}
}

// callTokens calls the operations of tokens and logins.
func callTokens(t *testing.T, call func(string, int, map[string]any) map[string]any) {
	t.Helper()
	if v := call("createToken", 201, map[string]any{"name": "ci", "role": "viewer",
		"workflow": "shop"}); v["name"] != "ci" || v["workflow"] != "shop" || v["token"] == "" {
		t.Errorf("token: %v", v)
	}
	if v := listOf(call("listTokens", 200, nil)["items"]); len(v) != 1 ||
		v[0].(map[string]any)["createdBy"].(map[string]any)["name"] != "ann" {
		t.Errorf("tokens: %v", v)
	}
	if v := call("revokeToken", 200, map[string]any{"name": "ci"}); v["name"] != "ci" {
		t.Errorf("revoked: %v", v)
	}
	if v := call("createLogin", 200, map[string]any{"role": "viewer"}); v["role"] != "viewer" || v["url"] == "" {
		t.Errorf("login: %v", v)
	}
}
