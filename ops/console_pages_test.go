package ops

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// hostile is what a title may hold: markup, an end of an attribute, characters that turn the direction of text, an
// emoji of several parts, and much of it.
var hostile = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u202Egnp.exe\u2066 👩‍💻 " +
	strings.Repeat("long ", 2000)

// pagesOf are the addresses of all pages that show something of the workflow.
func (u *browser) pagesOf(name string) []string {
	u.t.Helper()
	of := "/ui/workflows/" + name
	pages := []string{"/", "/ui/needs", "/ui/log", "/ui/system", "/ui/edit?workflow=" + name, of, of + "/script",
		of + "/state", of + "/log"}
	for _, list := range []string{"runs", "events", "jobs", "sessions"} {
		pages = append(pages, of+"/list/"+list)
	}
	var runs readmodel.Page[readmodel.Run]
	u.do("listWorkflowRuns", map[string]any{"workflow": name}, &runs)
	for _, r := range runs.Items {
		pages = append(pages, of+"/runs/"+string(r.ID))
	}
	var events readmodel.Page[readmodel.Event]
	u.do("listWorkflowEvents", map[string]any{"workflow": name}, &events)
	for _, e := range events.Items {
		pages = append(pages, of+"/events/"+string(e.Topic)+"/"+url.PathEscape(string(e.MessageID)))
	}
	var inputs readmodel.Page[readmodel.Input]
	u.do("listWorkflowInputs", map[string]any{"workflow": name}, &inputs)
	for _, i := range inputs.Items {
		pages = append(pages, of+"/inputs/"+string(i.ID))
	}
	var mutations readmodel.Page[readmodel.Mutation]
	u.do("listWorkflowMutations", map[string]any{"workflow": name}, &mutations)
	for _, m := range mutations.Items {
		pages = append(pages, "/ui/mutations/"+string(m.ID))
	}
	return pages
}

var (
	linkTo   = regexp.MustCompile(`\b(?:href|action|formaction)="([^"]*)"`)
	formPost = regexp.MustCompile(`(?s)<form[^>]*method="post"[^>]*action="([^"]*)"`)
)

// Each page shows what scripts and the outside have written as text, whatever stands in it, and says its name once in
// its title.
func TestConsoleEscapes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAsk)
	id := "o/1?<script>&\u202E"
	b.do("pushEvents", map[string]any{"workflow": "shop", "topic": "order.in", "events": []map[string]any{
		{"messageId": id, "title": hostile, "payload": map[string]any{"text": hostile}}}}, nil)
	b.engine.Rest("shop")
	u := b.browse(testToken, "")
	pages := u.pagesOf("shop")
	if len(pages) < 16 {
		t.Fatalf("only the pages %q", pages)
	}
	shown := 0
	for _, p := range pages {
		body := u.get(p)
		if strings.Contains(body, "<script>alert") || strings.Contains(body, "<img src=x") ||
			strings.ContainsAny(body, "\u202E\u2066") {
			t.Errorf("%s shows markup or turns text", p)
		}
		if len(body) > 400<<10 {
			t.Errorf("%s has %d KiB", p, len(body)>>10)
		}
		if strings.Contains(body, "&lt;script&gt;alert(1)") {
			shown++
		}
		if n := strings.Count(body, "<h1"); n == 0 {
			t.Errorf("%s has no heading", p)
		}
	}
	if shown < 8 {
		t.Errorf("the title stands on %d pages only", shown)
	}
}

// A link on a page leads to a page; a viewer finds no way to change anything, and is refused where it is tried all the
// same.
func TestConsoleRoles(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAsk)
	b.push("shop", "o-1", "o-2")
	b.engine.Rest("shop")
	admin, viewer := b.browse(testToken, ""), b.browse(testToken, "viewer")
	followed := map[string]bool{}
	acts := map[bool]int{}
	for _, u := range []*browser{admin, viewer} {
		for _, p := range u.pagesOf("shop") {
			body := u.get(p)
			for _, m := range linkTo.FindAllStringSubmatch(body, -1) {
				to := html.UnescapeString(m[1])
				changes := strings.HasPrefix(to, "/ui/act/") || strings.HasPrefix(to, "/ui/grant") ||
					strings.HasPrefix(to, "/ui/hooktest") || strings.HasPrefix(to, "/ui/tokens")
				if changes {
					acts[u == viewer]++
				}
				if !strings.HasPrefix(m[0], "href") || !strings.HasPrefix(to, "/") || followed[to] {
					continue
				}
				followed[to] = true
				if res, body := u.send("GET", to, nil); res.StatusCode != http.StatusOK {
					t.Errorf("%s leads to %s: %d\n%.300s", p, to, res.StatusCode, body)
				}
			}
		}
	}
	if acts[false] == 0 || acts[true] != 0 {
		t.Errorf("an admin finds %d ways to change something, a viewer %d", acts[false], acts[true])
	}
	res, _ := viewer.send("POST", "/ui/act/pauseWorkflow", url.Values{"form": {viewer.form()}, "workflow": {"shop"}})
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("a viewer pauses: %d", res.StatusCode)
	}
	if res, _ := viewer.send("GET", "/ui/act/pauseWorkflow?workflow=shop", nil); res.StatusCode != http.StatusForbidden {
		t.Errorf("a viewer is shown how to pause: %d", res.StatusCode)
	}
}

var hiddenInput = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)

// confirms opens the page that says what an action will do, and then does it with the further fields; it returns what
// the first page says, and the next page.
func (u *browser) confirms(address string, fields url.Values) (said, next string) {
	u.t.Helper()
	said = u.get(address)
	action := formPost.FindAllStringSubmatch(said, -1)
	form := url.Values{}
	at := strings.Index(said, `<form method="post" action="/ui/act/`)
	if at < 0 || len(action) == 0 {
		u.t.Fatalf("%s has no form:\n%s", address, said)
	}
	for _, m := range hiddenInput.FindAllStringSubmatch(said[at:], -1) {
		form.Add(html.UnescapeString(m[1]), html.UnescapeString(m[2]))
	}
	for name, values := range fields {
		form[name] = values
	}
	res, body := u.send("POST", action[len(action)-1][1], form)
	if res.StatusCode != http.StatusSeeOther {
		u.t.Fatalf("%s: %d\n%s", address, res.StatusCode, body)
	}
	return said, u.get(res.Header.Get("Location"))
}

// Requests are approved in bulk, exactly those that were shown, with a comment and under the user's name.
func TestConsoleApproves(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, name := range []string{"a", "b", "c"} {
		b.deploy(name, "send", eventlog.GrantAsk)
		b.push(name, "o-1")
		b.engine.Rest(eventlog.WorkflowName(name))
	}
	u := b.browse(testToken, "operator")
	needs := u.get("/ui/needs")
	items := regexp.MustCompile(`name="item" form="choose" value="([^"]+)"`).FindAllStringSubmatch(needs, -1)
	if len(items) != 3 {
		t.Fatalf("%d requests to approve:\n%s", len(items), needs)
	}
	said, next := u.confirms("/ui/act/approveMutations?back=/ui/needs&item="+items[0][1]+"&item="+items[1][1],
		url.Values{"comment": {"looks good"}})
	if !strings.Contains(said, "is sent once, exactly as it is recorded") || strings.Count(said, "o-1") < 2 ||
		!strings.Contains(next, "Done: 2 of 2.") {
		t.Errorf("before: %s\nafter: %s", said, next)
	}
	var m readmodel.Mutation
	b.do("getMutation", map[string]any{"mutation": items[0][1]}, &m)
	if m.Comment == nil || m.Comment.Text != "looks good" || m.Comment.By.Name != "ann" {
		t.Errorf("the comment is %+v", m.Comment)
	}
	if d := m.Decision; d == nil || d.What != projections.DecidedApproved || d.By.Name != "ann" {
		t.Errorf("the decision is %+v", d)
	}
	if body := u.get("/ui/mutations/" + items[0][1]); !strings.Contains(body, "approved by <bdi>ann</bdi>") {
		t.Errorf("the page does not name the user that approved it:\n%s", body)
	}
	b.do("getMutation", map[string]any{"mutation": items[2][1]}, &m)
	if m.Status != eventlog.MutationStatusAwaitingApproval {
		t.Errorf("what was not chosen is %s", m.Status)
	}
	res, body := u.send("GET", "/ui/act/approveMutations?back=/ui/needs", nil)
	if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, "Nothing is chosen") ||
		!strings.Contains(body, `href="/ui/needs">Back`) {
		t.Errorf("nothing is chosen: %d\n%s", res.StatusCode, body)
	}
	_, next = u.confirms("/ui/act/rejectMutation?back=/ui/needs&mutation="+items[2][1], nil)
	if !strings.Contains(next, "Nothing needs you") {
		t.Errorf("after all are decided:\n%s", next)
	}
}

// An uncertain call is resolved with a result; a result that is no JSON changes nothing, and says so beside the form.
func TestConsoleResolves(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.uncertain()
	b.deploy("shop", "fire", eventlog.GrantAllow)
	b.push("shop", "o-1")
	b.engine.Rest("shop")
	id := b.only("shop")
	u := b.browse(testToken, "")
	if body := u.get("/ui/needs"); !strings.Contains(body, "Uncertain changes") || !strings.Contains(body, id) {
		t.Fatalf("it is not shown:\n%s", body)
	}
	if body := u.get("/ui/mutations/" + id); strings.Contains(body, "Ask again") || !strings.Contains(body, "Skip it") {
		t.Errorf("the other side cannot be asked:\n%s", body)
	}
	address := "/ui/act/resolveMutation/did_happen?mutation=" + id
	res, body := u.send("POST", "/ui/act/resolveMutation/did_happen", url.Values{"form": {u.form()}, "mutation": {id},
		"result": {"{"}})
	if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, "Nothing was changed") ||
		!strings.Contains(body, `name="result"`) {
		t.Errorf("no JSON: %d\n%s", res.StatusCode, body)
	}
	said, _ := u.confirms(address, url.Values{"comment": {"seen there"}, "result": {`{"receipt":7}`},
		"back": {"//evil.example/"}})
	if !strings.Contains(said, "It is recorded that the call took effect") {
		t.Errorf("it does not say what it will do:\n%s", said)
	}
	var m readmodel.Mutation
	b.do("getMutation", map[string]any{"mutation": id}, &m)
	if m.Status != eventlog.MutationStatusApplied || string(m.Result) != `{"receipt":7}` ||
		m.ResolvedBy == nil || m.Comment == nil || m.Comment.By.Name != "ann" {
		t.Errorf("resolved as %s with %s by %v", m.Status, m.Result, m.ResolvedBy)
	}
	if body := u.get("/ui/mutations/" + id); !strings.Contains(body, "a person said that it happened") ||
		!strings.Contains(body, "Result, as a person gave it") {
		t.Errorf("how it was settled is not told:\n%s", body)
	}
}

// Discarded events are shown by their error and redriven in bulk.
func TestConsoleRedrives(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.discard()
	u := b.browse(testToken, "")
	if body := u.get("/ui/needs"); !strings.Contains(body, "30 events") || !strings.Contains(body, "no customer") {
		t.Errorf("they are not shown by their error:\n%s", body)
	}
	address := "/ui/act/redriveEvents?workflow=shop&state=discarded&back=/ui/needs"
	said, next := u.confirms(address, nil)
	if !strings.Contains(said, "<b>30</b> in all") || strings.Count(said, "Order of Ann") != 30 ||
		!strings.Contains(next, "Done: 30 of 30.") || !strings.Contains(next, "Redrive of 30 events") {
		t.Errorf("before: %s\nafter: %s", said, next)
	}
	event := u.get("/ui/workflows/shop/events/order.in/bad-7")
	input := regexp.MustCompile(`href="(/ui/workflows/shop/inputs/[^"]+)"`).FindStringSubmatch(event)
	if !strings.Contains(event, "redriven by <bdi>ann</bdi>") || len(input) != 2 {
		t.Fatalf("the page does not name the user that redrove it:\n%s", event)
	}
	if story := u.get(input[1]); !strings.Contains(story, "redriven by <b><bdi>ann</bdi></b>") {
		t.Errorf("the story of the input does not name the user that redrove its event:\n%s", story)
	}

	// Where nothing is redriven there is no progress to show.
	item := url.Values{"form": {u.form()}, "workflow": {"shop"}, "back": {"/ui/needs"}}
	res, body := u.send("POST", "/ui/act/redriveEvents", item)
	if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, "Nothing is chosen") {
		t.Errorf("no event is redriven: %d\n%s", res.StatusCode, body)
	}
	item["items"] = []string{`{"topic":"order.sent","messageId":"unknown"}`}
	if res, body = u.send("POST", "/ui/act/redriveEvents", item); res.Header.Get("Location") != "/ui/needs" {
		t.Errorf("what is not there is redriven: %d to %q\n%s", res.StatusCode, res.Header.Get("Location"), body)
	}
	if said := u.get("/ui/act/redriveEvents?workflow=shop&q=no-such&back=/ui/needs"); strings.Contains(said, `id="do"`) ||
		!strings.Contains(said, "It would change nothing now") {
		t.Errorf("nothing fits:\n%s", said)
	}
}

// Discarded events are skipped only where they are named, and only while they are discarded (C11, O7).
func TestConsoleSkipsDiscarded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.discard()
	u := b.browse(testToken, "")
	for _, page := range []string{"/ui/needs", "/ui/workflows/shop/list/jobs?state=discarded",
		"/ui/workflows/shop/events/order.in/bad-7"} {
		if body := u.get(page); !strings.Contains(body, "/ui/act/skipEvent") {
			t.Errorf("%s offers no skip:\n%s", page, body)
		}
	}
	b.do("pauseWorkflow", map[string]any{"workflow": "shop"}, nil)
	b.push("shop", "fresh")
	back := "&back=/ui/workflows/shop/list/jobs"
	_, next := u.confirms("/ui/act/skipEvents?workflow=shop&topic=order.in"+back, nil)
	if !strings.Contains(next, "1 of 1") {
		t.Errorf("discarded events that the filter does not name are skipped too:\n%s", next)
	}
	named := map[string]any{"workflow": "shop", "state": "discarded",
		"items": []map[string]any{{"topic": "order.in", "messageId": "bad-1"}, {"topic": "order.in", "messageId": "bad-2"}}}
	b.do("redriveEvent", map[string]any{"workflow": "shop", "topic": "order.in", "messageId": "bad-1"}, nil)
	var done bulkAnswer
	if b.do("skipEvents", named, &done); done.Updated != 1 || len(done.Noop) != 1 ||
		!strings.Contains(done.Noop[0].Reason, "available now, not discarded") {
		t.Errorf("what was redriven since it was counted: %+v", done)
	}
	_, next = u.confirms("/ui/act/skipEvents?workflow=shop&state=discarded"+back, nil)
	if !strings.Contains(next, "28 of 28") {
		t.Errorf("those that are named:\n%s", next)
	}
	var j readmodel.Job
	b.do("getJob", map[string]any{"workflow": "shop", "topic": "order.in", "messageId": "bad-3"}, &j)
	if j.State != projections.JobCancelled || j.Error == nil || !strings.Contains(j.Error.Message, "no customer") {
		t.Errorf("it does not say why it was put aside: %+v", j)
	}
}

// discard deploys a workflow whose script refuses its 30 events, until their attempts are used up.
func (b *bundle) discard() {
	b.t.Helper()
	source := strings.Replace(orders("shop", "send"), `subscribe: ["order.in"],`,
		`subscribe: ["order.in"], maxAttempts: 1,`, 1)
	source = strings.Replace(source, "if (event.payload && event.payload.crash) throw new Error(\"cannot read order \" + "+
		"event.id);", "", 1)
	source = strings.Replace(source, "async mutate(ctx, prepared) {",
		`async mutate(ctx, prepared) { if (prepared.data.order.startsWith("bad")) throw new Error("no customer");`, 1)
	b.do("deployWorkflow", map[string]any{"source": source, "grants": map[string]any{"*": "allow"}}, nil)
	var events []map[string]any
	for n := range 30 {
		events = append(events, map[string]any{"messageId": fmt.Sprintf("bad-%d", n), "title": "Order of Ann",
			"payload": nil})
	}
	b.do("pushEvents", map[string]any{"workflow": "shop", "topic": "order.in", "events": events}, nil)
	b.engine.Rest("shop")
	var w readmodel.Workflow
	b.do("getWorkflow", map[string]any{"workflow": "shop"}, &w)
	if w.Counts.Discarded != 30 {
		b.t.Fatalf("%d events are discarded", w.Counts.Discarded)
	}
}

// A script is checked, with its problems at their lines, and deployed.
func TestConsoleDeploys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.browse(testToken, "")
	form := url.Values{"form": {u.form()}, "do": {"deploy"}, "filename": {"shop.ts"},
		"source": {"export default Keep.workflow({\n  name: 5,\n});"}}
	res, body := u.send("POST", "/ui/deploy", form)
	if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, "Nothing was changed") ||
		!strings.Contains(body, "line 2") || !strings.Contains(body, "data-problems=\"[{") {
		t.Errorf("a script with a problem: %d\n%s", res.StatusCode, body)
	}
	form.Set("source", orders("shop", "send"))
	form.Set("do", "validate")
	if res, body := u.send("POST", "/ui/deploy", form); res.StatusCode != http.StatusOK ||
		!strings.Contains(body, "A deploy would be accepted now") {
		t.Errorf("checked: %d\n%s", res.StatusCode, body)
	}
	form.Set("do", "deploy")
	res, body = u.send("POST", "/ui/deploy", form)
	if res.StatusCode != http.StatusSeeOther {
		t.Fatalf("deploy: %d\n%s", res.StatusCode, body)
	}
	if body := u.get(res.Header.Get("Location")); !strings.Contains(body, "version 1.0") ||
		!strings.Contains(body, "It asks before each call of world.send") {
		t.Errorf("after the deploy:\n%s", body)
	}

	if body := u.get("/ui/edit"); !strings.Contains(body, `href="/ui/edit?workflow=shop"`) {
		t.Errorf("the page of a new script does not lead to those that run:\n%s", body)
	}

	// A script of another name than that of its page replaces no other workflow.
	b.deploy("till", "send", eventlog.GrantAllow)
	form.Set("source", strings.Replace(orders("shop", "send"), `"1h"`, `"2h"`, 1))
	for _, of := range []struct{ workflow, version, says string }{
		{"", "", "There is a workflow shop already"},
		{"till", "1.0", "The script names the workflow shop, and this page is about till."},
	} {
		form.Set("workflow", of.workflow)
		form.Set("version", of.version)
		if res, body := u.send("POST", "/ui/deploy", form); res.StatusCode != http.StatusConflict ||
			!strings.Contains(body, of.says) || !strings.Contains(body, "2h") {
			t.Errorf("deployed from the page of %q: %d\n%s", of.workflow, res.StatusCode, body)
		}
	}
	form.Set("workflow", "shop")
	if res, body := u.send("POST", "/ui/deploy", form); res.StatusCode != http.StatusSeeOther {
		t.Errorf("deployed from its own page: %d\n%s", res.StatusCode, body)
	}
}

// A filter that is not understood says so, and leads back to its list.
func TestConsoleFilters(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	u := b.browse(testToken, "viewer")
	res, body := u.send("GET", "/ui/workflows/shop/list/events?since=gestern&topic=order.in", nil)
	if res.StatusCode != http.StatusBadRequest || !strings.Contains(body, "“gestern” is no time") ||
		!strings.Contains(body, `href="/ui/workflows/shop/list/events">Back`) {
		t.Errorf("%d\n%s", res.StatusCode, body)
	}
}

// A page is told at once that something has changed, and its connection ends with its login.
func TestConsoleIsLive(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it waits for the beats of a live page, 15 s")
	}
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	u := b.browse(testToken, "")
	u.get("/")
	ctx, cancel := context.WithCancel(await(t))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", b.http.URL+"/ui/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.AddCookie(u.cookie)
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil || res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%v %v", res, err)
	}
	defer func() { _ = res.Body.Close() }()
	until := func(text string) {
		t.Helper()
		var seen strings.Builder
		buffer := make([]byte, 1024)
		for !strings.Contains(seen.String(), text) {
			n, err := res.Body.Read(buffer)
			seen.Write(buffer[:n])
			if err != nil {
				if text != "" {
					t.Fatalf("%v after %q", err, seen.String())
				}
				return
			}
		}
	}
	until(": pawl")
	b.push("shop", "o-1")
	until("event: changed")
	if res, _ := u.send("POST", "/ui/logout", url.Values{"form": {u.form()}}); res.StatusCode != http.StatusSeeOther {
		t.Fatalf("log out: %d", res.StatusCode)
	}
	for buffer := make([]byte, 1024); err == nil; _, err = res.Body.Read(buffer) {
	}
	if ctx.Err() != nil {
		t.Error("the stream outlives its login")
	}
}

// What became of an input is told through all topics.
func TestTraceInput(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	b.push("shop", "o-1", "o-2")
	b.engine.Rest("shop")
	var inputs readmodel.Page[readmodel.Input]
	b.do("listWorkflowInputs", map[string]any{"workflow": "shop"}, &inputs)
	var trace readmodel.Trace
	b.do("traceInput", map[string]any{"workflow": "shop", "input": inputs.Items[0].ID}, &trace)
	var ids []string
	for _, e := range trace.Events {
		ids = append(ids, string(e.Event.MessageID))
	}
	if !trace.Complete || !slices.Equal(ids, []string{"o-1", "sent:o-1"}) || len(trace.Mutations) != 1 ||
		trace.Mutations[0].Status != eventlog.MutationStatusApplied {
		encoded, _ := json.Marshal(trace)
		t.Errorf("the trace of o-1 is %s", encoded)
	}
	if p := b.refused("traceInput", map[string]any{"workflow": "shop", "input": "none"}); p.Code != "input.unknown" {
		t.Errorf("of no input: %+v", p)
	}
}
