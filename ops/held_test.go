package ops

import (
	"context"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/ops/metrics"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// counting gives the server what counts the engine's progress.
func counting() setting {
	return func(c *Config, b *enginetest.Harness) {
		c.Progress = metrics.NewProgress(nil)
		b.Config.Observe = c.Progress.Observe
	}
}

// deployConcurrent deploys orders with a concurrent consumer that has a key.
func (b *bundle) deployConcurrent(name string) {
	b.t.Helper()
	source := strings.Replace(orders(name, "send"), `subscribe: ["order.in"],`,
		`subscribe: ["order.in"], concurrency: 4, key: "k",`, 1)
	b.do("deployWorkflow", map[string]any{"source": source, "filename": "orders.ts",
		"grants": map[string]any{"*": "allow"}}, nil)
	b.engine.Rest(eventlog.WorkflowName(name))
}

// C5, C11: what is held is shown in events, jobs, handlers, workflows, why, evidence and metrics, found by filter, and
// ended in bulk.
func TestHeldIsShownAndEnded(t *testing.T) {
	t.Parallel()
	b := setup(t, counting())
	b.deployConcurrent("shop")
	b.bench.World.OnPerform(func(_ context.Context, call connector.Call) connector.Outcome {
		if strings.Contains(string(call.Params), "gone") {
			return connector.Outcome{Status: connector.Failed,
				Failure: enginetest.Failing(eventlog.Precondition, "http.404")}
		}
		return b.bench.World.Apply(call)
	})
	push := func(id, key, payload string) {
		b.do("pushEvents", map[string]any{"workflow": "shop", "topic": "order.in", "events": []any{map[string]any{
			"messageId": id, "title": "Order " + id, "payload": map[string]any{"k": key, "crash": payload == "crash"}}}}, nil)
	}
	push("bad", "x", "crash")
	push("waits", "x", "")
	push("gone-1", "y", "")
	push("good", "z", "")
	push("gone-2", "w", "")
	b.engine.Rest("shop")

	var events readmodel.Page[readmodel.Event]
	b.do("listEvents", map[string]any{"held": "person"}, &events)
	var ids []string
	for _, e := range events.Items {
		ids = append(ids, string(e.MessageID))
	}
	if !slices.Equal(ids, []string{"gone-1", "gone-2"}) {
		t.Fatalf("held for a person: %v", ids)
	}
	held := events.Items[0].Held
	if held == nil || held.Reason != eventlog.HeldPerson || held.Error == nil || held.Error.Code != "http.404" ||
		held.Since == 0 || held.Mutation == nil || !slices.Equal(held.Ends, []string{"pawl resume shop",
		"pawl redrive shop order.in gone-1", "pawl skip shop order.in gone-1"}) {
		t.Errorf("held %+v", held)
	}
	var job readmodel.Job
	b.do("getJob", map[string]any{"workflow": "shop", "topic": "order.in", "messageId": "bad"}, &job)
	if job.State != "retryable" || job.Held == nil || job.Held.Reason != eventlog.HeldRepair {
		t.Errorf("job %+v", job)
	}
	var w readmodel.Workflow
	b.do("getWorkflow", map[string]any{"workflow": "shop"}, &w)
	if w.Counts.Held != 3 || w.Concurrency == nil || *w.Concurrency != 4 || w.Attention == nil ||
		w.Attention.Reason != "held" || w.Attention.Failures != 3 || w.Repair == nil || w.Repair.Attempt != 1 {
		t.Errorf("workflow %+v, attention %+v, repair %+v", w, w.Attention, w.Repair)
	}
	var handlers readmodel.Page[readmodel.Handler]
	b.do("listWorkflowHandlers", map[string]any{"workflow": "shop"}, &handlers)
	send := slices.IndexFunc(handlers.Items, func(h readmodel.Handler) bool { return h.Name == "send" })
	if h := handlers.Items[send]; h.Held != 3 || *h.Concurrency != 4 || *h.Key != "k" || h.Rate != nil ||
		h.Probing != nil {
		t.Errorf("handler %+v", h)
	}
	var why explain.Why
	b.do("explainWorkflow", map[string]any{"workflow": "shop"}, &why)
	for _, says := range []string{"3 of its events wait for a person or a repair", "(logic script.threw:",
		`1 event with the key "x" waits until`, "2 events are held", "(precondition http.404:"} {
		if !strings.Contains(why.Message, says) {
			t.Errorf("why does not say %q: %s", says, why.Message)
		}
	}
	if !why.NeedsPerson || !slices.Contains(why.Commands, "pawl skip shop --where held=person") {
		t.Errorf("why %+v", why)
	}
	var evidence evidenceAnswer
	b.do("getEvidence", map[string]any{"workflow": "shop", "run": job.Held.Run}, &evidence)
	if evidence.Held == nil || evidence.Held.Reason != eventlog.HeldRepair || evidence.Maintenance == nil {
		t.Errorf("evidence %+v, %+v", evidence.Held, evidence.Maintenance)
	}
	b.figures(`pawl_held{reason="person",workflow="shop"} 2`, `pawl_held{reason="repair",workflow="shop"} 1`,
		`pawl_held{reason="approval",workflow="shop"} 0`, `pawl_jobs{state="retryable",workflow="shop"} 3`,
		`pawl_jobs{state="available",workflow="shop"} 2`, // what waits for its key, and what has no subscriber
		`pawl_workflows_attention{reason="held"} 1`,
		`pawl_runs_total{status="failed:logic"} 1`, `pawl_runs_total{status="paused:approval"} 2`,
		`pawl_mutations_total{status="applied"} 1`, `pawl_mutations_total{status="failed"} 2`,
		`pawl_mutations_total{status="in_flight"} 3`, `pawl_discarded_total 0`, `pawl_phase_seconds_count{phase="call"} 3`,
		`pawl_phase_seconds_count{phase="next"} 1`, `pawl_active_runs 0`)

	var done bulkAnswer
	b.do("skipEvents", map[string]any{"workflow": "shop", "held": "person", "q": "gone-2"}, &done)
	if done.Matched != 1 || done.Updated != 1 {
		t.Errorf("skipped %+v", done)
	}
	b.bench.World.OnPerform(func(_ context.Context, call connector.Call) connector.Outcome {
		return b.bench.World.Apply(call)
	})
	b.do("redriveEvents", map[string]any{"workflow": "shop", "held": "person"}, &done)
	if done.Matched != 1 || done.Updated != 1 {
		t.Errorf("redriven %+v", done)
	}
	b.engine.Rest("shop")
	b.do("skipEvents", map[string]any{"workflow": "shop", "held": "repair"}, &done)
	b.engine.Rest("shop")
	b.do("explainWorkflow", map[string]any{"workflow": "shop"}, &why)
	if got := len(b.bench.World.Effects()); got != 3 || why.NeedsPerson {
		t.Errorf("%d effects (of good, gone-1 and waits); %+v", got, why)
	}
}

// O7: the answer of a skip tells what ends only once next has run from what is over.
func TestO7_SkipAtTheEndOfTheRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	source := strings.NewReplacer(`subscribe: ["order.in"],`, `subscribe: ["order.in"], concurrency: 4,`,
		`if (result.status === "applied") {`, `if (true) { throw new Error("next"); } {`).Replace(orders("shop", "send"))
	b.do("deployWorkflow", map[string]any{"source": source, "filename": "orders.ts",
		"grants": map[string]any{"*": "allow"}}, nil)
	b.push("shop", "e1", "e2")
	b.engine.Rest("shop")
	var done bulkAnswer
	b.do("skipEvents", map[string]any{"workflow": "shop", "items": []any{map[string]any{"topic": "order.in",
		"messageId": "e1"}}}, &done)
	if done.Updated != 1 || done.AtRunEnd != 1 {
		t.Errorf("skipped %+v", done)
	}
	var job readmodel.Job
	b.do("skipEvent", map[string]any{"workflow": "shop", "topic": "order.in", "messageId": "e2"}, &job)
	if job.State != "running" || !job.SkipAtRunEnd || job.Held == nil {
		t.Errorf("skipped %+v", job)
	}
}

// figures wants these lines in the metrics.
func (b *bundle) figures(lines ...string) {
	b.t.Helper()
	_, body := b.request("GET", "/metrics", "")
	for _, line := range lines {
		if !strings.Contains(string(body), "\n"+line+"\n") {
			b.t.Errorf("the metrics have no %s", line)
		}
	}
	if b.t.Failed() {
		for line := range strings.Lines(string(body)) {
			if strings.HasPrefix(line, "pawl_") && !strings.Contains(line, "bucket") {
				fmt.Fprint(b.t.Output(), line)
			}
		}
	}
}

// C11: calls of one workflow that await approval beside each other are approved in bulk, each once.
func TestC11_ApprovalsBesideEachOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deployConcurrent("shop")
	b.do("setGrants", map[string]any{"workflow": "shop", "grants": map[string]any{"*": "ask"}}, nil)
	b.push("shop", "a", "b", "c", "d", "e")
	b.engine.Rest("shop")
	var counted mutationsAnswer
	b.do("approveMutations", map[string]any{"workflow": "shop", "held": "approval", "dryRun": true}, &counted)
	b.push("shop", "late")
	b.engine.Rest("shop")
	var done mutationsAnswer
	b.do("approveMutations", map[string]any{"items": counted.Items, "comment": "all of them"}, &done)
	b.engine.Rest("shop")
	if counted.Matched != 5 || done.Updated != 5 || len(b.bench.World.Effects()) != 5 || len(b.bench.World.Twice()) > 0 {
		t.Errorf("counted %d, approved %+v, effects %v", counted.Matched, done, b.bench.World.Effects())
	}
	var left readmodel.Page[readmodel.Mutation]
	b.do("listMutations", map[string]any{"held": "approval"}, &left)
	if len(left.Items) != 1 || left.Items[0].Events[0].MessageID != "late" {
		t.Errorf("left are %+v", left.Items)
	}
}

// Held events of another class with the same code are shown apart, and what a person skips is one of the kinds (C11).
func TestConsoleTellsClassesApart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deployConcurrent("shop")
	b.bench.World.OnPerform(func(_ context.Context, call connector.Call) connector.Outcome {
		class := eventlog.Precondition
		if strings.Contains(string(call.Params), "forbidden") {
			class = eventlog.Permission
		}
		return connector.Outcome{Status: connector.Failed, Failure: enginetest.Failing(class, "http.status")}
	})
	b.do("pushEvents", map[string]any{"workflow": "shop", "topic": "order.in", "events": []any{
		map[string]any{"messageId": "gone", "title": "Gone"}, map[string]any{"messageId": "forbidden", "title": "Forbidden"},
	}}, nil)
	b.engine.Rest("shop")
	u := b.browse(testToken, "")
	needs := u.get("/ui/needs")
	skip := regexp.MustCompile(`href="(/ui/act/skipEvents[^"]*class=permission[^"]*)"`).FindStringSubmatch(needs)
	if len(skip) != 2 {
		t.Fatalf("the kinds are not told apart:\n%s", needs)
	}
	said, next := u.confirms(html.UnescapeString(skip[1]), nil)
	if !strings.Contains(said, "Forbidden") || strings.Contains(said, "Gone") || !strings.Contains(next, "Done: 1 of 1.") {
		t.Errorf("before: %s\nafter: %s", said, next)
	}
}
