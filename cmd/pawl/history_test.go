package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// historyScripts are workflows that leave one of everything behind.
var historyScripts = map[string]string{
	// Reads that fail for a while, changes of unknown outcome, events that are dropped and put aside.
	"orders": `export default Keep.workflow({
  name: "orders", topics: { "order.in": {}, "order.done": {} },
  producers: { poll: { interval: "1h", async handler(ctx) { await ctx.publish("order.in", { messageId: "own", title: "Own order", payload: {} }); } } },
  consumers: {
    send: Keep.consumer({
      subscribe: ["order.in"], maxAttempts: 1,
      async prepare(ctx, state) {
        const [event] = await ctx.peek("order.in", { limit: 1 });
        if (!event) return { reservations: [], data: null, wakeAt: new Date(ctx.now() + 3600e3).toISOString() };
        const p = event.payload ?? {};
        if (p.drop) return { reservations: [], data: null, cancel: [{ topic: "order.in", ids: [event.id], reason: "not wanted" }] };
        if (p.flaky) await ctx.http.get({ url: "SINK/flaky" });
        return { reservations: [{ topic: "order.in", ids: [event.id] }], data: { id: event.id, ...p, sent: state?.sent ?? 0 }, ui: { title: "Send " + event.id } };
      },
      async mutate(ctx, { data }) {
        if (data.bad) throw new Error("cannot send " + data.id);
        if (data.quiet) return;
        await ctx.http.post({ url: data.lost ? "SINK/lost" : "SINK/orders", body: { id: data.id } });
      },
      async next(ctx, { data }, result) {
        if (data) await ctx.publish("order.done", { messageId: data.id, title: result.status, payload: result });
        return data ? { sent: data.sent + 1 } : undefined;
      },
    }),
    note: Keep.consumer({ subscribe: ["order.done"], async prepare(ctx) {
      const all = await ctx.peek("order.done");
      return { reservations: [{ topic: "order.done", ids: all.map(e => e.id) }], data: null };
    } }),
  },
});`,
	// Waits for approvals.
	"careful": `export default Keep.workflow({
  name: "careful", topics: { t: {} },
  consumers: { write: Keep.consumer({
    subscribe: ["t"],
    async prepare(ctx) {
      const [event] = await ctx.peek("t", { limit: 1 });
      if (!event) return { reservations: [], data: null };
      return { reservations: [{ topic: "t", ids: [event.id] }], data: event.id, ui: { title: "Write " + event.id } };
    },
    async mutate(ctx, { data }) { await ctx.files.write({ path: data + ".txt", content: data }); },
  }) },
});`,
	// Fails until it is corrected.
	"broken": `export default Keep.workflow({
  name: "broken", topics: { t: {} },
  consumers: { explode: Keep.consumer({ subscribe: ["t"], async prepare(ctx) {
    const all = await ctx.peek("t");
    if (all.length > 0) throw new Error("deliberate");
    return { reservations: [], data: null };
  } }) },
});`,
	// Has a producer that fails for good.
	"denied": `export default Keep.workflow({
  name: "denied", topics: { t: {} },
  producers: { p: { cron: "0 6 * * *", timezone: "Europe/Berlin", runOnDeploy: true, async handler(ctx) { await ctx.http.get({ url: "SINK/forbidden" }); } } },
});`,
	"old": `export default Keep.workflow({ name: "old", topics: { t: {} }, ` +
		`producers: { async p(ctx, state) { return (state ?? 0) + 1; } } });`,
}

// historySink is the other side of the history.
func historySink(t *testing.T) *httptest.Server {
	var flaky atomic.Int32
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/flaky" && flaky.Add(1) <= 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/lost":
			w.WriteHeader(http.StatusInternalServerError)
		case r.URL.Path == "/forbidden":
			w.WriteHeader(http.StatusForbidden)
		default:
			fmt.Fprint(w, `{"ok":true}`)
		}
	}))
	t.Cleanup(sink.Close)
	return sink
}

// recordHistory makes a rich past and leaves the engine at rest.
func recordHistory(d *daemon, sink string) {
	d.t.Helper()
	post := func(path string, body any) []byte {
		d.t.Helper()
		answer := d.call(http.StatusOK, http.MethodPost, "/v1/workflows/"+path, body)
		d.rest()
		return answer
	}
	deploy := func(name string, grants map[string]string) {
		d.t.Helper()
		d.call(http.StatusCreated, http.MethodPost, "/v1/workflows", map[string]any{
			"source": strings.ReplaceAll(historyScripts[name], "SINK", sink), "filename": name + ".ts", "grants": grants,
		})
		d.rest()
	}
	type object = map[string]any
	deploy("orders", map[string]string{"*": "allow"})
	for id, payload := range map[string]object{"1": {}, "2": {"drop": true}, "3": {"quiet": true}} {
		post("orders/topics/order.in/events", object{"messageId": id, "title": "Order " + id, "payload": payload})
	}
	post("orders/topics/order.in/events",
		[]object{{"messageId": "4/ä %", "title": "Flaky", "payload": object{"flaky": true}},
			{"messageId": "1", "title": "Order 1, again"}})
	d.advance("10m")
	post("orders/topics/order.in/events", object{"messageId": "5", "title": "Bad", "payload": object{"bad": true}})
	d.advance("10m")
	// The outcome of two of them is not known; a person goes on without the first.
	post("orders/topics/order.in/events", object{"messageId": "lost", "title": "Lost", "payload": object{"lost": true}})
	only := func(status string) string {
		d.t.Helper()
		var page readmodel.Page[readmodel.Mutation]
		d.get("/v1/mutations?status="+status, &page)
		if len(page.Items) != 1 {
			d.t.Fatalf("%d mutations are %s, want 1\n%s", len(page.Items), status, d.text())
		}
		return string(page.Items[0].ID)
	}
	d.call(http.StatusOK, http.MethodPost, "/v1/mutations/"+only("indeterminate")+"/resolve", object{"resolution": "skip"})
	d.rest()
	post("orders/topics/order.in/events", object{"messageId": "lost too", "title": "Lost too",
		"payload": object{"lost": true}})
	deploy("careful", map[string]string{"files.write": "ask"})
	for i, verb := range []string{"approve", "reject", ""} {
		post("careful/topics/t/events", object{"messageId": fmt.Sprint("file", i), "title": "File"})
		waiting := only("awaiting_approval")
		if verb != "" {
			d.call(http.StatusOK, http.MethodPost, "/v1/mutations/"+waiting+"/"+verb, nil)
			d.rest()
		}
	}
	deploy("broken", nil)
	post("broken/topics/t/events", object{"messageId": "a", "title": "A"})
	deploy("denied", map[string]string{"*": "allow"})
	deploy("old", nil)
	d.advance("2h")
	post("old/pause", nil)
	post("old/resume", nil)
	post("old/archive", nil)
}

// answers fetches what every read operation of the table says, by path.
func (d *daemon) answers() map[string][]byte {
	d.t.Helper()
	type item = map[string]any
	list := func(path string) []item {
		var page struct{ Items []item }
		d.get(path, &page)
		return page.Items
	}
	segment := func(v any) string { return url.PathEscape(fmt.Sprint(v)) }
	var paths []string
	for _, o := range ops.Operations() {
		if o.Method != http.MethodGet {
			continue
		}
		path, query, _ := o.Params()
		filled := []string{o.Path}
		if len(path) > 0 && path[0] == "workflow" {
			filled = nil
			for _, w := range list("/v1/workflows") {
				filled = append(filled, strings.ReplaceAll(o.Path, "{workflow}", segment(w["name"])))
			}
		}
		fill := func(parameter string, values func(path string) []item, fields ...string) {
			if !strings.Contains(o.Path, parameter) {
				return
			}
			var more []string
			for _, p := range filled {
				before, after, _ := strings.Cut(p, parameter)
				for _, v := range values(p) {
					var segments []string
					for _, field := range fields {
						segments = append(segments, segment(v[field]))
					}
					more = append(more, before+strings.Join(segments, "/")+after)
				}
			}
			filled = more
		}
		workflow := func(path string) string { return strings.Split(path, "/")[3] }
		for parameter, kind := range map[string]string{"{run}": "runs", "{input}": "inputs", "{session}": "sessions"} {
			fill(parameter, func(p string) []item {
				return list("/v1/workflows/" + workflow(p) + "/" + kind + "?limit=1000")
			}, "id")
		}
		fill("{topic}/{messageId}", func(p string) []item {
			kind := "events"
			if strings.Contains(p, "/jobs/") {
				kind = "jobs" // topics without a consumer have none
			}
			return list("/v1/workflows/" + workflow(p) + "/" + kind + "?limit=1000")
		}, "topic", "messageId")
		fill("{mutation}", func(string) []item { return list("/v1/mutations?limit=1000") }, "id")
		for _, p := range filled {
			paths = append(paths, p)
			if strings.Contains(strings.Join(query, " "), "order") {
				paths = append(paths, p+"?order=desc&limit=3", p+"?limit=1000", p+"?q=o&limit=2")
			}
		}
	}
	answers := map[string][]byte{}
	for _, path := range paths {
		if slices.Contains([]string{"/v1/workers", "/v1/doctor", "/v1/backup"}, path) {
			continue // processes, the machine's state and the time of a copy are no history
		}
		if strings.Contains(path, "{") {
			d.t.Fatalf("%s: a parameter that this test does not know", path)
		}
		status, body, err := d.request(http.MethodGet, path, nil)
		if err != nil {
			d.t.Fatalf("GET %s: %v", path, err)
		}
		answers[path] = fmt.Appendf(nil, "%d\n%s", status, body)
	}
	return answers
}

// Everything that can be asked is answered the same, byte for byte, after the local store was
// deleted; and the state at each revision is that of a fold of the whole log.
func TestHistory(t *testing.T) {
	long(t)
	t.Parallel()
	sink := historySink(t)
	dir := place(t, map[string]string{
		"files/.keep": "",
		"pawl.yaml": "files: ./files\nclock: manual\nclock-start: 2026-03-01T08:00:00Z\ndata: data\n" +
			"connectors: {http: {hosts: {\"" + strings.TrimPrefix(sink.URL, "http://") + "\": {private: true}}}}\n",
	})
	d := startDaemon(t, dir, "pawl", "serve")
	recordHistory(d, sink.URL)
	before := d.answers()
	for _, want := range []string{
		`"discarded"`, `"skipped"`, `"consumed"`, `"pending"`, `"reserved"`, `"completed"`, `"cancelled"`, `"indeterminate"`,
		`"awaiting_approval"`,
		`"user_skip"`, `"user_reject"`, `"failed:logic"`, `"paused:transient"`, `"paused:approval"`, `"maintenance":true`,
		`"archived"`, `"done"`, `"retryOf":"`,
	} {
		if !bytes.Contains(bytes.Join(values(before), nil), []byte(want)) {
			t.Errorf("the history has no %s", want)
		}
	}
	states := d.allStates()
	d.stop()
	if err := os.RemoveAll(filepath.Join(dir, "data", "store")); err != nil {
		t.Fatal(err)
	}
	d = startDaemon(t, dir, "pawl", "serve")
	d.rest()
	after := d.answers()
	if len(before) != len(after) {
		t.Errorf("%d answers before, %d after", len(before), len(after))
	}
	for path, want := range before {
		if got := after[path]; !bytes.Equal(got, want) {
			t.Errorf("GET %s\nbefore %s\nafter  %s", path, want, got)
		}
	}
	d.stop()
	compareStates(t, filepath.Join(dir, "data"), states)
	t.Logf("%d answers, %d states", len(before), len(states))
}

func values(m map[string][]byte) [][]byte {
	var all [][]byte
	for _, v := range m {
		all = append(all, v)
	}
	return all
}

// revisionOf names a state of the past.
type revisionOf struct {
	workflow eventlog.WorkflowName
	revision uint64
}

// allStates asks for the state at every revision of every workflow.
func (d *daemon) allStates() map[revisionOf]any {
	d.t.Helper()
	states := map[revisionOf]any{}
	var page readmodel.Page[readmodel.Workflow]
	d.get("/v1/workflows?limit=1000", &page)
	for _, w := range page.Items {
		for revision := uint64(1); revision <= w.Revision; revision++ {
			var state any
			d.get(fmt.Sprintf("/v1/workflows/%s/state?at=%d", w.Name, revision), &state)
			states[revisionOf{w.Name, revision}] = state
		}
		d.call(http.StatusNotFound, http.MethodGet, fmt.Sprintf("/v1/workflows/%s/state?at=%d", w.Name, w.Revision+1), nil)
	}
	return states
}

// compareStates folds the whole log in its own order and holds each state against the answers.
func compareStates(t *testing.T, data string, answers map[revisionOf]any) {
	t.Helper()
	in, err := storage.Open(t.Context(), config.Settings{Data: data}, underTest().with, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}()
	states := map[eventlog.WorkflowName]*projections.State{}
	compared := 0
	for r, err := range in.Log.Read(t.Context(), 0, 1) {
		if err != nil {
			t.Fatal(err)
		}
		if states[r.Workflow] == nil {
			states[r.Workflow] = new(projections.State)
		}
		state, err := projections.Apply(states[r.Workflow], &r)
		if err != nil {
			t.Fatal(err)
		}
		states[r.Workflow] = state
		text, err := json.Marshal(readmodel.StateOf(state))
		if err != nil {
			t.Fatal(err)
		}
		var want any
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		if got := answers[revisionOf{r.Workflow, r.Revision}]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s at %d\n got %v\nwant %v", r.Workflow, r.Revision, got, want)
		}
		compared++
	}
	if compared != len(answers) || compared < 50 {
		t.Errorf("%d states compared with %d answers", compared, len(answers))
	}
}
