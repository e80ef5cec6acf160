package ops

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// TestListsOfAPeriod: each list of a workflow's past takes since and until, as one object and over HTTP, and a text
// that is no time is refused with an example of one.
func TestListsOfAPeriod(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	b.push("shop", "a")
	b.engine.Rest("shop")
	for _, kind := range []string{"runs", "events", "jobs", "mutations", "inputs", "sessions"} {
		for id, path := range map[string]string{
			"list" + strings.ToUpper(kind[:1]) + kind[1:]:         "/v1/" + kind,
			"listWorkflow" + strings.ToUpper(kind[:1]) + kind[1:]: "/v1/workflows/shop/" + kind,
		} {
			number := func(since, until string) int {
				params := map[string]any{}
				if strings.Contains(path, "shop") {
					params["workflow"] = "shop"
				}
				query := url.Values{}
				for name, value := range map[string]string{"since": since, "until": until} {
					if value != "" {
						params[name] = value
						query.Set(name, value)
					}
				}
				var asObject readmodel.Page[map[string]any]
				b.do(id, params, &asObject)
				res, body := b.request("GET", path+"?"+query.Encode(), "")
				over, ok := mustJSON(t, body)["items"].([]any)
				if res.StatusCode != 200 || !ok || len(over) != len(asObject.Items) {
					t.Errorf("%s since %q until %q: %d %s, as an object %d items",
						path, since, until, res.StatusCode, body, len(asObject.Items))
				}
				return len(asObject.Items)
			}
			const early, late = "2000-01-01T00:00:00Z", "2100-01-01T02:00:00+02:00"
			all, within, after, before := number("", ""), number(early, late), number(late, ""), number("", early)
			if all == 0 || within != all || after != 0 || before != 0 {
				t.Errorf("%s: %d of all, %d within, %d after, %d before", id, all, within, after, before)
			}
		}
		res, body := b.request("GET", "/v1/"+kind+"?since=yesterday", "")
		p := mustJSON(t, body)
		if res.StatusCode != 400 || p["code"] != "query.invalid" ||
			!strings.Contains(string(body), "RFC 3339, such as 2026-") {
			t.Errorf("%s since yesterday: %d %s", kind, res.StatusCode, body)
		}
	}
}

// TestRunsNameTheirEvents: a run says which events it was about, with their titles, and how many they are.
func TestRunsNameTheirEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	b.push("shop", "a")
	b.engine.Rest("shop")
	var runs readmodel.Page[readmodel.Run]
	b.do("listRuns", map[string]any{"handler": "send"}, &runs)
	i := slices.IndexFunc(runs.Items, func(r readmodel.Run) bool { return r.EventCount > 0 })
	if i < 0 {
		t.Fatalf("no run names an event: %+v", runs.Items)
	}
	run, want := runs.Items[i], readmodel.RunEvent{Topic: "order.in", MessageID: "a", Title: "Order a"}
	if !slices.Equal(run.Events, []readmodel.RunEvent{want}) || run.EventCount != 1 {
		t.Errorf("run %s is about %+v (%d), want %+v", run.ID, run.Events, run.EventCount, want)
	}
	var shown readmodel.Run
	b.do("getRun", map[string]any{"workflow": "shop", "run": run.ID}, &shown)
	if !slices.Equal(shown.Events, run.Events) {
		t.Errorf("shown alone it is about %+v", shown.Events)
	}
	var past readmodel.StateView
	b.do("getState", map[string]any{"workflow": "shop"}, &past)
	at := slices.IndexFunc(past.Runs, func(r readmodel.Run) bool { return r.ID == run.ID })
	if at < 0 || !slices.Equal(past.Runs[at].Events, run.Events) {
		t.Errorf("rebuilt from the log: %+v", past.Runs)
	}
	b.do("listRuns", map[string]any{"handler": "poll"}, &runs)
	if len(runs.Items) == 0 || runs.Items[0].Events == nil || runs.Items[0].EventCount != 0 {
		t.Errorf("a producer's run: %+v", runs.Items)
	}
}

// TestDeadLetters: a discarded job shows its title, why it was put aside, and when.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const mutate = `async mutate(ctx, prepared) {`
	source := strings.NewReplacer(`subscribe: ["order.in"],`, `subscribe: ["order.in"], maxAttempts: 0,`,
		mutate, mutate+` throw new Error("no stamp left");`).Replace(orders("shop", "send"))
	b.do("deployWorkflow", map[string]any{
		"source": source, "filename": "orders.ts", "grants": map[string]any{"*": "allow"},
	}, nil)
	b.push("shop", "a")
	b.engine.Rest("shop")
	var jobs readmodel.Page[readmodel.Job]
	b.do("listJobs", map[string]any{"state": "discarded", "since": time.Unix(0, 0).Format(time.RFC3339)}, &jobs)
	if len(jobs.Items) != 1 {
		t.Fatalf("%d dead letters", len(jobs.Items))
	}
	job := jobs.Items[0]
	if job.Title != "Order a" || job.Error == nil || !strings.Contains(job.Error.Message, "no stamp left") ||
		job.PublishedAt == 0 || job.FinalizedAt < job.PublishedAt {
		t.Errorf("%+v", job)
	}
}

// TestGrantsOfOperationsThatDoNotExist: a grant that could never grant anything is refused with the nearest name,
// however it is given; one of a connector that is not there is kept, since a tool may come later.
func TestGrantsOfOperationsThatDoNotExist(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	before := b.last()
	typo := map[string]any{"world.fier": "allow"}
	for id, params := range map[string]map[string]any{
		"setGrants":      {"workflow": "shop", "grants": typo},
		"changeGrants":   {"workflow": "shop", "grants": typo},
		"deployWorkflow": {"source": orders("shop", "fire"), "filename": "orders.ts", "grants": typo},
	} {
		p := b.refused(id, params)
		if p.Status != 422 || p.Code != "grants.invalid" || !strings.Contains(p.Detail, "did you mean world.fire?") {
			t.Errorf("%s: %+v", id, p)
		}
	}
	if b.last() != before {
		t.Error("a refused grant has left something in the log")
	}
	for _, grants := range []map[string]any{
		{"world.fier": nil}, {"world.fire": "ask"}, {"mail.send": "allow"}, {"world.*": "deny"},
	} {
		b.do("changeGrants", map[string]any{"workflow": "shop", "grants": grants}, nil)
	}
}

// TestEventsThatNoConsumerReads: diagnostics names the topics in which events wait although no consumer subscribes
// to them.
func TestEventsThatNoConsumerReads(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	unreadNow := func() []unread {
		var d diagnosticsAnswer
		b.do("getDiagnostics", nil, &d)
		return d.Unread
	}
	if found := unreadNow(); found == nil || len(found) > 0 {
		t.Errorf("before any event: %v", found)
	}
	b.push("shop", "a", "b")
	b.engine.Rest("shop")
	if found := unreadNow(); !slices.Equal(found, []unread{{"shop", "order.sent", 2}}) {
		t.Errorf("two orders were sent, and found are %v", found)
	}
	b.do("archiveWorkflow", map[string]any{"workflow": "shop"}, nil)
	if found := unreadNow(); len(found) > 0 {
		t.Errorf("of an archived workflow: %v", found)
	}
}

// TestFiguresBeforeTheFirstCount: a figure is there, at 0, before what it counts has happened: an alert that asks
// for its rise sees the first.
func TestFiguresBeforeTheFirstCount(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, body := b.request("GET", "/metrics", "")
	for _, o := range Operations() {
		if line := `pawl_http_requests_total{operation="` + o.ID + `",status="`; !strings.Contains(string(body), line) {
			t.Errorf("there is no figure for %s", o.ID)
		}
	}
	for _, line := range []string{
		`pawl_events_pushed_total 0`,
		`pawl_http_requests_total{operation="pushEvents",status="200"} 0`,
		`pawl_http_requests_total{operation="deployWorkflow",status="201"} 0`,
		`pawl_workflows_blocked{reason="logic"} 0`,
		`pawl_workflows_blocked{reason="indeterminate"} 0`,
		`pawl_workflows_attention{reason="discarded"} 0`,
		`pawl_store_sequence{partition="0"} 0`,
		`pawl_jobs_discarded 0`,
	} {
		if !strings.Contains(string(body), "\n"+line+"\n") {
			t.Errorf("there is no %s", line)
		}
	}
}

// TestPaging walks a list in both orders while it grows.
func TestPaging(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	b.do("pauseWorkflow", map[string]any{"workflow": "shop"}, nil)
	b.push("shop", "a", "b", "c", "d", "e")
	walk := func(order string) string {
		var seen []string
		params := map[string]any{"workflow": "shop", "limit": 2, "order": order}
		for n := 0; ; n++ {
			var page readmodel.Page[readmodel.Event]
			b.do("listWorkflowEvents", params, &page)
			for _, e := range page.Items {
				seen = append(seen, string(e.MessageID))
			}
			if page.Next == nil {
				return strings.Join(seen, "")
			}
			params["cursor"] = *page.Next
			b.push("shop", order+strconv.Itoa(n)) // arrives between two pages
		}
	}
	if got := walk("desc"); got != "edcba" {
		t.Errorf("newest first: %s", got)
	}
	// What arrived meanwhile comes at the end, and nothing twice.
	if got := walk("asc"); !strings.HasPrefix(got, "abcdedesc0desc1asc0asc1") || strings.Count(got, "asc0") != 1 {
		t.Errorf("oldest first: %s", got)
	}
	var found readmodel.Page[readmodel.Event]
	b.do("listEvents", map[string]any{"q": "oRdEr C", "topic": "order.in", "status": "pending"}, &found)
	if len(found.Items) != 1 || found.Items[0].MessageID != "c" {
		t.Errorf("found %+v", found.Items)
	}
}

// TestIdempotencyKeyOfAMutation: a mutation says with which key the other side was sent it, and is found by that key as
// a whole; a part of it, which is the workflow's name, finds nothing.
func TestIdempotencyKeyOfAMutation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	b.push("shop", "a", "b")
	b.engine.Rest("shop")
	var all, found readmodel.Page[readmodel.Mutation]
	b.do("listMutations", nil, &all)
	if len(all.Items) != 2 || all.Items[0].IdempotencyKey != "pawl-shop-"+string(all.Items[0].ID) ||
		all.Items[0].Deadline <= all.Items[0].StartedAt {
		t.Fatalf("mutations %+v", all.Items)
	}
	b.do("listMutations", map[string]any{"q": strings.ToUpper(all.Items[1].IdempotencyKey)}, &found)
	if len(found.Items) != 1 || found.Items[0].ID != all.Items[1].ID {
		t.Errorf("by the key: %+v", found.Items)
	}
	b.do("listMutations", map[string]any{"q": "pawl-shop"}, &found)
	if len(found.Items) != 0 {
		t.Errorf("by a part of the key: %+v", found.Items)
	}
	b.deploy("ask", "send", eventlog.GrantAsk)
	b.push("ask", "c")
	b.engine.Rest("ask")
	b.do("listWorkflowMutations", map[string]any{"workflow": "ask"}, &found)
	if len(found.Items) != 1 || found.Items[0].IdempotencyKey != "" || found.Items[0].Deadline != 0 {
		t.Errorf("before it has left: %+v", found.Items)
	}
}
