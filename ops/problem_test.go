package ops

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
	"github.com/pawl-run/pawl/ops/problem"
	"github.com/pawl-run/pawl/ops/rpc"
)

// TestBadCalls: each is answered by its problem and changes nothing.
func TestBadCalls(t *testing.T) {
	t.Parallel()
	b := setupOn(t, memlog.New(memlog.Config{MaxSize: 64 << 10}))
	b.deploy("shop", "fire", eventlog.GrantAsk)
	b.push("shop", "a")
	b.engine.Rest("shop")
	waiting := b.only("shop")
	b.deploy("gone", "send", eventlog.GrantAsk)
	b.do("archiveWorkflow", map[string]any{"workflow": "gone"}, nil)
	b.engine.Rest("gone")

	big := `{"messageId":"big","title":"Big","payload":"` + strings.Repeat("x", 64<<10) + `"}`
	var all []string
	for i := range 100 {
		all = append(all, fmt.Sprintf(`{"messageId":"m%d","title":"%s"}`, i, strings.Repeat("y", 1<<10)))
	}
	many := "[" + strings.Join(all, ",") + "]"
	source := func(s string) string { return `{"source":` + quote(s) + `,"filename":"x.ts"}` }
	push := "/v1/workflows/shop/topics/order.in/events"
	for name, c := range map[string]struct {
		method, path, body string
		header             string // name: value
		status             int
		code               string
	}{
		"unknown path":             {"GET", "/v1/nothing", "", "", 404, "path.unknown"},
		"root":                     {"GET", "/", "", "", 404, "path.unknown"},
		"unclean path":             {"POST", "/v1//workflows", "{}", "", 404, "path.unknown"},
		"relative path":            {"GET", "/v1/workflows/../workflows", "", "", 404, "path.unknown"},
		"wrong method":             {"DELETE", "/v1/workflows", "", "", 405, "method.notAllowed"},
		"wrong method on an item":  {"POST", "/v1/workflows/shop/runs", "{}", "", 405, "method.notAllowed"},
		"unknown workflow":         {"GET", "/v1/workflows/nobody", "", "", 404, "workflow.unknown"},
		"runs of unknown workflow": {"GET", "/v1/workflows/nobody/runs", "", "", 404, "workflow.unknown"},
		"log of unknown workflow":  {"GET", "/v1/log?workflow=nobody", "", "", 404, "workflow.unknown"},
		"pause unknown workflow":   {"POST", "/v1/workflows/nobody/pause", "", "", 404, "workflow.unknown"},
		"unknown run":              {"GET", "/v1/workflows/shop/runs/01X", "", "", 404, "run.unknown"},
		"unknown event":            {"GET", "/v1/workflows/shop/events/order.in/a%2Fb", "", "", 404, "event.unknown"},
		"unknown mutation":         {"POST", "/v1/mutations/01X/approve", "", "", 404, "mutation.unknown"},
		"unknown version":          {"GET", "/v1/workflows/shop/source?version=9.9", "", "", 404, "script.unknown"},
		"unknown revision":         {"GET", "/v1/workflows/shop/state?at=999", "", "", 404, "revision.unknown"},
		"revision zero":            {"GET", "/v1/workflows/shop/state?at=0", "", "", 404, "revision.unknown"},
		"bad revision":             {"GET", "/v1/workflows/shop/state?at=-1", "", "", 400, "query.invalid"},
		"unknown query":            {"GET", "/v1/workflows?colour=red", "", "", 400, "query.unknown"},
		"foreign filter":           {"GET", "/v1/mutations?topic=order.in", "", "", 400, "query.unknown"},
		"query twice":              {"GET", "/v1/workflows?limit=1&limit=2", "", "", 400, "query.invalid"},
		"broken query":             {"GET", "/v1/workflows?limit=%zz", "", "", 400, "query.invalid"},
		"limit is no number":       {"GET", "/v1/workflows?limit=ten", "", "", 400, "query.invalid"},
		"limit too large":          {"GET", "/v1/runs?limit=1001", "", "", 400, "query.invalid"},
		"bad order":                {"GET", "/v1/runs?order=up", "", "", 400, "query.invalid"},
		"bad cursor":               {"GET", "/v1/runs?cursor=!", "", "", 400, "cursor.invalid"},
		"bad position":             {"GET", "/v1/log?from=x", "", "", 400, "position.invalid"},
		"no such partition":        {"GET", "/v1/log?from=7:1", "", "", 400, "position.invalid"},
		"bad last event id":        {"GET", "/v1/log?follow=true", "", "Last-Event-ID: never", 400, "position.invalid"},
		"bad follow":               {"GET", "/v1/log?follow=perhaps", "", "", 400, "query.invalid"},
		"not JSON":                 {"POST", "/v1/workflows", "{", "", 400, "json.invalid"},
		"not UTF-8":                {"POST", "/v1/validate", "{\"source\":\"caf\xe9\"}", "", 400, "json.invalid"},
		"an array":                 {"POST", "/v1/workflows", "[]", "", 400, "json.invalid"},
		"two objects":              {"POST", "/v1/workflows", "{} {}", "", 400, "json.invalid"},
		"no source":                {"POST", "/v1/workflows", "{}", "", 400, "field.missing"},
		"no body at all":           {"POST", "/v1/workflows", "", "", 400, "field.missing"},
		"null source":              {"POST", "/v1/workflows", `{"source":null}`, "", 400, "field.missing"},
		"wrong type":               {"POST", "/v1/workflows", `{"source":1}`, "", 400, "field.invalid"},
		"unknown field":            {"POST", "/v1/workflows", `{"source":"x","force":true}`, "", 400, "field.unknown"},
		"field in wrong case":      {"POST", "/v1/workflows", `{"Source":"x"}`, "", 400, "field.unknown"},
		"path field in the body": {
			"PUT", "/v1/workflows/shop/grants", `{"workflow":"gone","grants":{}}`, "", 400, "field.unknown",
		},
		"a body where none is": {"POST", "/v1/workflows/shop/pause", `{"hard":true}`, "", 400, "field.unknown"},
		"text body": {
			"POST", "/v1/workflows", source("x"), "Content-Type: text/plain", 415, "contentType.unsupported",
		},
		"form body": {
			"POST", push, `{}`, "Content-Type: application/x-www-form-urlencoded", 415, "contentType.unsupported",
		},
		"script with problems":      {"POST", "/v1/workflows", source("export default 1"), "", 422, "script.refused"},
		"script with broken syntax": {"POST", "/v1/workflows", source("export default {"), "", 422, "script.refused"},
		"moved version": {
			"POST", "/v1/workflows",
			`{"source":` + quote(orders("shop", "send")) + `,"expectedVersion":"7.0"}`, "",
			409, "version.moved",
		},
		"bad grants": {
			"PUT", "/v1/workflows/shop/grants", `{"grants":{"world.fire":"maybe"}}`, "", 422, "grants.invalid",
		},
		"bad grants at deploy": {
			"POST", "/v1/workflows",
			`{"source":` + quote(orders("new", "send")) + `,"grants":{"world":"allow"}}`,
			"", 422, "grants.invalid",
		},
		"grants without grants": {"PUT", "/v1/workflows/shop/grants", `{}`, "", 400, "field.missing"},
		"change without grants": {"PATCH", "/v1/workflows/shop/grants", `{}`, "", 400, "field.missing"},
		"change to a bad grant": {
			"PATCH", "/v1/workflows/shop/grants", `{"grants":{"world.fire":"maybe"}}`, "", 422, "grants.invalid",
		},
		"change of no capability": {
			"PATCH", "/v1/workflows/shop/grants", `{"grants":{"world":"allow"}}`, "", 422, "grants.invalid",
		},
		"bare grants, one bad": {
			"PUT", "/v1/workflows/shop/grants", `{"world.fire":"maybe"}`, "", 422, "grants.invalid",
		},
		"bare grants of no object": {"PUT", "/v1/workflows/shop/grants", `"allow"`, "", 400, "json.invalid"},
		"bare grants and a field": {
			"PUT", "/v1/workflows/shop/grants", `{"world.fire":"allow","grants":{}}`, "", 400, "field.unknown",
		},
		"bare grants of objects": {
			"PATCH", "/v1/workflows/shop/grants", `{"world.fire":{"grant":"allow"}}`, "", 400, "field.unknown",
		},
		"take out no capability": {
			"PATCH", "/v1/workflows/shop/grants", `{"grants":{"world":null}}`, "", 422, "grants.invalid",
		},
		"change of an archived one": {
			"PATCH", "/v1/workflows/gone/grants", `{"grants":{"world.fire":"allow"}}`, "", 409, "workflow.archived",
		},
		"pause of an archived one":  {"POST", "/v1/workflows/gone/pause", "", "", 409, "workflow.archived"},
		"deploy of an archived one": {"POST", "/v1/workflows", source(orders("gone", "send")), "", 0, ""},
		"resolve what waits": {
			"POST", "/v1/mutations/" + waiting + "/resolve", `{"resolution":"skip"}`, "", 409, "mutation.state",
		},
		"unknown resolution": {
			"POST", "/v1/mutations/" + waiting + "/resolve", `{"resolution":"it_happened"}`, "", 0, "",
		},
		"approve other parameters": {
			"POST", "/v1/mutations/" + waiting + "/approve", `{"paramsHash":"00"}`, "", 409, "approval.changed",
		},
		"push to unknown topic": {
			"POST", "/v1/workflows/shop/topics/none/events", `{"messageId":"x","title":"X"}`, "", 404, "topic.unknown",
		},
		"push to unknown workflow": {
			"POST", "/v1/workflows/nobody/topics/t/events", `{"messageId":"x","title":"X"}`, "", 404, "workflow.unknown",
		},
		"push to an archived one": {
			"POST", "/v1/workflows/gone/topics/order.in/events", `{"messageId":"x","title":"X"}`, "", 409, "workflow.archived",
		},
		"push of nothing":        {"POST", push, "", "", 400, "json.invalid"},
		"push without title":     {"POST", push, `{"messageId":"x"}`, "", 400, "field.missing"},
		"push with empty title":  {"POST", push, `{"messageId":"x","title":""}`, "", 422, "event.invalid"},
		"push with control char": {"POST", push, `{"messageId":"a\u0000b","title":"x"}`, "", 422, "event.invalid"},
		"half good push": {
			"POST", push, `[{"messageId":"good","title":"Good"},{"messageId":"","title":"Bad"}]`, "", 422, "event.invalid",
		},
		"push with unknown field": {"POST", push, `{"messageId":"x","title":"X","data":1}`, "", 400, "field.unknown"},
		"push with a query":       {"POST", push + "?force=1", `{"messageId":"x","title":"X"}`, "", 400, "query.unknown"},
		"push of a number":        {"POST", push, `7`, "", 400, "event.invalid"},
		"push of one too large":   {"POST", push, big, "", 413, "transition.tooLarge"},
		"push of too many":        {"POST", push, many, "", 413, "transition.tooLarge"},
		"push beyond any bound":   {"POST", push, `"` + strings.Repeat("x", rpc.MaxBody) + `"`, "", 413, "body.tooLarge"},
		"bad actor": {
			"POST", "/v1/workflows/shop/pause", "", "Pawl-Actor: " + strings.Repeat("a", 200), 400, "actor.invalid",
		},
	} {
		if c.status == 0 {
			c.status, c.code = 409, ""
		}
		before := b.last()
		var headers []string
		if name, value, ok := strings.Cut(c.header, ": "); ok {
			headers = []string{name, value}
		}
		res, body := b.request(c.method, c.path, c.body, headers...)
		got := mustJSON(t, body)
		if name == "deploy of an archived one" && res.StatusCode == 422 {
			c.status = 422 // found by the check of the script, with its line
		}
		if res.StatusCode != c.status || c.code != "" && got["code"] != c.code {
			t.Errorf("%s: %d %s, want %d %s", name, res.StatusCode, body, c.status, c.code)
			continue
		}
		if res.Header.Get("Content-Type") != rpc.ProblemType || got["type"] != "urn:pawl:problem:"+got["code"].(string) ||
			got["status"] != float64(c.status) || got["title"] == "" || got["detail"] == "" || got["hint"] == nil {
			t.Errorf("%s: not a problem document: %s %s", name, res.Header.Get("Content-Type"), body)
		}
		if c.status == 405 && res.Header.Get("Allow") == "" {
			t.Errorf("%s: no Allow", name)
		}
		if c.code == "script.refused" {
			p := got["problems"].([]any)[0].(map[string]any)
			if p["severity"] != "error" || p["message"] == "" || p["code"] == "" {
				t.Errorf("%s: %v", name, p)
			}
		}
		if after := b.last(); after != before {
			t.Errorf("%s: the log went from %d to %d", name, before, after)
		}
	}
}

func quote(s string) string {
	return `"` + strings.NewReplacer("\\", `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// TestUnavailable: a log that does not answer is 503 with Retry-After, in bounded time.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	lost := make(chan struct{}, 1)
	fault := func(eventlog.Entry) memlog.Fault {
		select {
		case <-lost:
			lost <- struct{}{}
			return memlog.Refuse
		default:
			return memlog.None
		}
	}
	b := setupOn(t, memlog.New(memlog.Config{Fault: fault}))
	b.deploy("shop", "send", eventlog.GrantAllow)
	hasty := b.server.cfg
	hasty.Timeout = 200 * time.Millisecond
	s, err := New(hasty)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	lost <- struct{}{}
	res := record(t, s.Handler(), "POST", "/v1/workflows/shop/topics/order.in/events", `{"messageId":"x","title":"X"}`)
	if res.Code != 503 || res.Header().Get("Retry-After") == "" ||
		mustJSON(t, res.Body.Bytes())["code"] != "storage.unavailable" {
		t.Errorf("%d %s %s", res.Code, res.Header(), res.Body)
	}
	<-lost
	// The same once more: the first attempt is settled on the way, and nothing is there twice.
	b.push("shop", "x")
	var event struct{ Status string }
	b.do("getEvent", map[string]any{"workflow": "shop", "topic": "order.in", "messageId": "x"}, &event)
	if event.Status == "" {
		t.Errorf("event: %+v", event)
	}
}

// TestStarting: an engine that has not replayed its log answers 503, and says so at /readyz.
func TestStarting(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cfg := b.server.cfg
	idle, err := engine.New(engine.Config{Log: b.bench.Log, Store: b.bench.Store, Scripts: stubScripts{},
		Connectors: stubConnectors{}})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Engine, cfg.Timeout = idle, time.Millisecond
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for path, want := range map[string]int{
		"/readyz": 503, "/healthz": 200, "/v1/workflows": 503, "/v1/log": 503, "/metrics": 200, "/v1/openapi.json": 200,
	} {
		if status := get(t, s.Handler(), path).Code; status != want {
			t.Errorf("%s answers %d, want %d", path, status, want)
		}
	}
	<-b.engine.Ready()
	if res, _ := b.request("GET", "/readyz", ""); res.StatusCode != 200 {
		t.Errorf("a ready engine answers %d", res.StatusCode)
	}
	if err := b.bench.Log.Close(); err != nil {
		t.Fatal(err)
	}
	if res, _ := b.request("GET", "/readyz", ""); res.StatusCode != 503 {
		t.Errorf("with its log gone it answers %d", res.StatusCode)
	}
}

// TestNoDiskSpace: while pushes are refused for want of disk space the engine is not ready, though alive, and
// says why; the push may be sent again, for nothing of it was written.
func TestNoDiskSpace(t *testing.T) {
	t.Parallel()
	var full atomic.Bool
	b := setup(t, func(_ *Config, bench *enginetest.Harness) {
		bench.Config.DiskSpace = func() error {
			if full.Load() {
				return errors.New("3 bytes are free")
			}
			return nil
		}
	})
	b.deploy("shop", "send", eventlog.GrantAllow)
	for _, c := range []struct {
		full                 bool
		ready, healthy, push int
	}{{false, 200, 200, 200}, {true, 503, 200, 503}, {false, 200, 200, 200}} {
		full.Store(c.full)
		res, ready := b.request("GET", "/readyz", "")
		if res.StatusCode != c.ready {
			t.Errorf("full %v: /readyz answers %d", c.full, res.StatusCode)
		}
		if res, _ := b.request("GET", "/healthz", ""); res.StatusCode != c.healthy {
			t.Errorf("full %v: /healthz answers %d", c.full, res.StatusCode)
		}
		res, pushed := b.request("POST", "/v1/workflows/shop/topics/order.in/events",
			`{"messageId":"a","title":"A","payload":{"id":"a"}}`)
		if res.StatusCode != c.push {
			t.Errorf("full %v: a push answers %d %s", c.full, res.StatusCode, pushed)
		}
		if !c.full {
			continue
		}
		for what, answer := range map[string][]byte{"/readyz": ready, "a push": pushed} {
			if p := mustJSON(t, answer); p["code"] != "storage.unavailable" ||
				!strings.Contains(fmt.Sprint(p["detail"]), "3 bytes are free") ||
				strings.Contains(fmt.Sprint(p["hint"]), "may have been") {
				t.Errorf("%s says %s", what, answer)
			}
		}
	}
}

// TestPanic: a panic is a problem, is logged, and the next request is answered.
func TestPanic(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o := operation("panic", "GET /panic", rpc.Viewer, "")
	o = define(o, func(context.Context, *Call, *noRequest) (noRequest, error) { panic("no such luck") })
	rec := record(t, b.server.outer(b.server.operation(&o), public, nil), "GET", "/panic", "")
	if rec.Code != 500 || mustJSON(t, rec.Body.Bytes())["code"] != "internal" ||
		strings.Contains(rec.Body.String(), "luck") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	rec = record(t, b.server.outer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		panic("outside the table")
	}), public, nil), "GET", "/", "")
	if rec.Code != 500 {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

// TestProblemOf: an error that has no place in the list shows nothing of its text.
func TestProblemOf(t *testing.T) {
	t.Parallel()
	cause := errors.New("secret detail")
	p := problem.Of(cause)
	if p.Status != 500 || strings.Contains(p.Detail, "secret") || !errors.Is(p, cause) {
		t.Errorf("%+v", p)
	}
	if p := problem.Of(eventlog.ErrDamaged); p.Code != "log.damaged" || p.Hint == "" {
		t.Errorf("%+v", p)
	}
}

// TestHintSaysWhetherItWasRecorded: a caller that is told that nothing was recorded is not told that it may have been.
func TestHintSaysWhetherItWasRecorded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		hint string
	}{
		{
			fmt.Errorf("record: %w: %w", engine.ErrNothingRecorded, context.Canceled),
			"nothing was recorded; send it again in a moment",
		},
		{fmt.Errorf("push: %w", engine.ErrNoDiskSpace), "nothing was recorded; send it again when there is disk space"},
		{
			fmt.Errorf("record: %w: %w", engine.ErrUnknownOutcome, context.Canceled),
			"it may have been recorded nevertheless, repeating it is safe",
		},
		{fmt.Errorf("deploy: %w", engine.ErrNotRead), "repeating it is safe, and says what it came to"},
		{fmt.Errorf("record: %w", eventlog.ErrUnconfirmed), "it may have been recorded nevertheless, repeating it is safe"},
	} {
		if p := problem.Of(c.err); p.Status != 503 || !strings.Contains(p.Hint, c.hint) {
			t.Errorf("%v: %d with the hint %q", c.err, p.Status, p.Hint)
		}
	}
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	if err := b.engine.Stop(); err != nil {
		t.Fatal(err)
	}
	last := b.last()
	for id, params := range map[string]map[string]any{
		"pauseWorkflow": {"workflow": "shop"},
		"pushEvents": {
			"workflow": "shop", "topic": "order.in", "events": []any{map[string]any{"messageId": "a", "title": "A"}},
		},
	} {
		if p := b.refused(id, params); p.Status != 503 || !strings.HasPrefix(p.Hint, "nothing was recorded") ||
			b.last() != last {
			t.Errorf("%s on an engine that has ended: %+v", id, p)
		}
	}
}
