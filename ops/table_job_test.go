package ops

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/engine/runlog"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections/readmodel"
	"github.com/pawl-run/pawl/sandbox"
)

// keptLines is a run log in memory.
type keptLines struct {
	mu    sync.Mutex
	lines map[eventlog.RunID][]runlog.Line
}

func (k *keptLines) Read(_ context.Context, _ eventlog.WorkflowName, run eventlog.RunID) ([]runlog.Line, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lines[run], nil
}

func (k *keptLines) write(_ eventlog.WorkflowName, run eventlog.RunID, _ eventlog.Handler, lines []sandbox.LogLine) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, line := range lines {
		k.lines[run] = append(k.lines[run], runlog.Line{At: line.At, Level: line.Level, Text: line.Text})
	}
}

// runLog keeps what runs write.
func runLog() setting {
	k := &keptLines{lines: map[eventlog.RunID][]runlog.Line{}}
	return func(c *Config, b *enginetest.Harness) { c.RunLog, b.Config.RunLog = k, k.write }
}

// calls lets operators call the world.
func calls() setting {
	return func(c *Config, b *enginetest.Harness) {
		registry, err := connector.NewRegistry(b.World)
		if err != nil {
			b.TB.Fatal(err)
		}
		c.Calls = registry
	}
}

// mailer fails on every event whose payload says so, at line 9.
const mailer = `
export default Keep.workflow({
  name: "mailer",
  topics: { "mail": {} },
  consumers: {
    read: Keep.consumer({
      subscribe: ["mail"],
      async prepare(ctx) {
        const broken = (text) => { throw new Error(text); };
        await ctx.world.list({ folder: "in" });
        const [event] = await ctx.peek("mail");
        if (!event) return { reservations: [], data: null };
        ctx.log("reading " + event.id);
        if (event.payload.broken) broken("no subject in " + event.id);
        return { reservations: [{ topic: "mail", ids: [event.id] }], data: null };
      },
    }),
  },
});
`

// callEvents and callRepair call the rows about events, repairs and connectors for TestEveryOperation.
func callEvents(t *testing.T, b *bundle, call func(string, int, map[string]any) map[string]any) {
	t.Helper()
	shop := func(more ...any) map[string]any {
		m := map[string]any{"workflow": "shop", "topic": "order.in"}
		for i := 0; i < len(more); i += 2 {
			m[more[i].(string)] = more[i+1]
		}
		return m
	}
	b.do("pauseWorkflow", map[string]any{"workflow": "shop"}, nil)
	b.push("shop", "e1", "e2", "e3", "e4")
	for i, id := range []string{"skipEvent", "cancelEvent"} {
		message := []string{"e1", "e2"}[i]
		for range 2 { // the same again is no error
			if v := call(id, 200, shop("messageId", message, "reason", "not ours")); v["state"] != "cancelled" {
				t.Errorf("%s: %v", id, v)
			}
		}
	}
	before := b.last()
	for range 2 {
		if v := call("redriveEvent", 200, shop("messageId", "e2")); v["state"] != "available" {
			t.Errorf("redrive: %v", v)
		}
	}
	if got := b.last() - before; got != 1 {
		t.Errorf("redriving twice left %d transitions, want 1", got)
	}
	if v := call("skipEvents", 200, map[string]any{"workflow": "shop", "items": []any{
		map[string]any{"topic": "order.in", "messageId": "e2"}, map[string]any{"topic": "order.in", "messageId": "e2"},
		map[string]any{"topic": "order.in", "messageId": "nobody"},
	}}); v["matched"] != 2.0 || v["updated"] != 1.0 || listOf(v["noop"])[0].(map[string]any)["messageId"] != "nobody" {
		t.Errorf("skip by name: %v", v)
	}
	dry := shop("dryRun", true)
	before = b.last()
	if v := call("cancelEvents", 200, dry); v["matched"] != 2.0 || v["updated"] != 0.0 || b.last() != before {
		t.Errorf("a dry run: %v, the log went from %d to %d", v, before, b.last())
	}
	if v := call("cancelEvents", 200, shop("limit", 1)); v["matched"] != 1.0 || v["updated"] != 1.0 || v["more"] != true {
		t.Errorf("cancel one: %v", v)
	}
	if v := call("cancelEvents", 200, shop("q", "E4")); v["updated"] != 1.0 || v["more"] != false {
		t.Errorf("cancel by text: %v", v)
	}
	// A state that the action does not apply to is answered for, event by event.
	if v := call("cancelEvents", 200, shop("state", "cancelled", "q", "e3")); v["updated"] != 0.0 ||
		!strings.Contains(listOf(v["noop"])[0].(map[string]any)["reason"].(string), "is cancelled") {
		t.Errorf("cancel what is cancelled: %v", v)
	}
	if v := call("redriveEvents", 200, shop("q", "order e")); v["matched"] != 4.0 || v["updated"] != 4.0 {
		t.Errorf("redrive: %v", v)
	}
	call("skipEvents", 200, shop())
	b.do("resumeWorkflow", map[string]any{"workflow": "shop"}, nil)
	b.engine.Rest("shop")
}

func callRepair(t *testing.T, b *bundle, call func(string, int, map[string]any) map[string]any) {
	t.Helper()
	b.do("deployWorkflow", map[string]any{"source": mailer, "filename": "mailer.ts"}, nil)
	b.engine.Rest("mailer")
	b.do("pushEvents", map[string]any{"workflow": "mailer", "topic": "mail",
		"events": map[string]any{"messageId": "m1", "title": "M1", "payload": map[string]any{"broken": true}}}, nil)
	b.engine.Rest("mailer")
	var runs readmodel.Page[readmodel.Run]
	b.do("listWorkflowRuns", map[string]any{"workflow": "mailer", "status": "failed:logic"}, &runs)
	run := map[string]any{"workflow": "mailer", "run": runs.Items[0].ID}
	if v := listOf(call("getRunLogs", 200, run)["items"]); len(v) != 1 || v[0].(map[string]any)["text"] != "reading m1" {
		t.Errorf("logs: %v", v)
	}
	run["all"] = true
	if v := listOf(call("getRunLogs", 200, run)["items"]); len(v) != 3 {
		t.Errorf("all lines: %v", v)
	}
	delete(run, "all")
	if v := call("recordRuns", 200, map[string]any{"workflow": "mailer", "runs": []any{run["run"]}}); v["runs"] != 1.0 ||
		!strings.Contains(v["yaml"].(string), "- push: \"mail\"\n") ||
		!strings.Contains(v["yaml"].(string), "# The run failed (script.threw): Error: no subject in m1") {
		t.Errorf("a case of the run that failed: %v", v)
	}
	evidence := call("getEvidence", 200, run)
	fault := evidence["error"].(map[string]any)
	if fault["class"] != "logic" || fault["line"] != 9.0 ||
		!strings.Contains(fault["text"].(string), "throw new Error(text)") || fault["message"] != "Error: no subject in m1" {
		t.Errorf("error: %v", fault)
	}
	inputs, _ := json.Marshal(evidence["inputs"])
	if !strings.Contains(string(inputs), `"messageId":"m1"`) || len(listOf(evidence["calls"])) != 1 ||
		evidence["source"] != mailer {
		t.Errorf("evidence: inputs %s, calls %v", inputs, evidence["calls"])
	}
	if numbered := evidence["numbered"].(string); !strings.Contains(string(inputs), `"undefined":["state"]`) ||
		!strings.Contains(numbered, "\n> 9  ") && !strings.Contains(numbered, "\n>9  ") {
		t.Errorf("inputs %s of\n%s", inputs, numbered)
	}
	if used := listOf(evidence["operations"]); len(used) != 1 || evidence["problems"] == nil {
		t.Errorf("operations %v, problems %v", used, evidence["problems"])
	}
	if m := evidence["maintenance"].(map[string]any); m["attempt"] != 1.0 || m["budget"] != 3.0 ||
		m["requestedAt"] == nil {
		t.Errorf("maintenance: %v", m)
	}
	p := b.refused("repairWorkflow", map[string]any{"workflow": "mailer", "source": "export default 1"})
	if p.Status != 422 || p.Code != "repair.refused" || len(p.Problems) == 0 || p.Hint == "" {
		t.Errorf("a broken repair: %+v", p)
	}
	if p := b.refused("repairWorkflow", map[string]any{"workflow": "mailer", "source": mailer,
		"expectedVersion": "0.9"}); p.Status != 409 || p.Code != "version.moved" {
		t.Errorf("a repair of another version: %+v", p)
	}
	repaired := strings.Replace(mailer, "if (event.payload.broken) broken", "if (event.payload.worse) broken", 1)
	if v := call("repairWorkflow", 200, map[string]any{"workflow": "mailer", "source": repaired,
		"note": "subjects are optional"}); v["version"] != "1.1" || v["workflow"] != "mailer" {
		t.Errorf("repair: %v", v)
	}
	b.engine.Rest("mailer")
	if p := b.refused("repairWorkflow", map[string]any{"workflow": "mailer", "source": repaired}); p.Status != 409 ||
		p.Code != "repair.notRequested" {
		t.Errorf("a repair that was not requested: %+v", p)
	}
	if v := call("callConnector", 200,
		map[string]any{"connector": "world", "operation": "list"}); v["outcome"] != "applied" || v["kind"] != "list" {
		t.Errorf("call: %v", v)
	}
	if v := call("callConnector", 200, map[string]any{"connector": "world", "operation": "fire", "mutate": true,
		"params": map[string]any{"a": 1}}); v["outcome"] != "uncertain" || v["idempotencyKey"] == nil {
		t.Errorf("call of a mutation: %v", v)
	}
}

// TestBulkIsRefused: a request that could mean everything, or two things, changes nothing.
func TestBulkIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	for name, c := range map[string]struct {
		params map[string]any
		status int
	}{
		"nothing said":     {map[string]any{}, 422},
		"only a limit":     {map[string]any{"limit": 3}, 422},
		"both":             {map[string]any{"q": "a", "items": []any{map[string]any{"topic": "t", "messageId": "m"}}}, 422},
		"a wild limit":     {map[string]any{"q": "a", "limit": 10_001}, 422},
		"unknown workflow": {map[string]any{"workflow": "shed", "q": "a"}, 404},
		"no message id": {map[string]any{"items": []any{map[string]any{"topic": "order.in", "messageId": "a"},
			map[string]any{"topic": "order.in"}}}, 400},
		"no topic":         {map[string]any{"items": []any{map[string]any{"messageId": "a"}}}, 400},
		"an impossible id": {map[string]any{"items": []any{map[string]any{"topic": "order.in", "messageId": "a\nb"}}}, 400},
		"a number":         {map[string]any{"items": []any{7}}, 400},
	} {
		if c.params["workflow"] == nil {
			c.params["workflow"] = "shop"
		}
		if p := b.refused("cancelEvents", c.params); p.Status != c.status || p.Hint == "" {
			t.Errorf("%s: %+v", name, p)
		}
	}
	two := []any{map[string]any{"topic": "order.in", "messageId": "a"}, map[string]any{"topic": "order.in"}}
	if p := b.refused("cancelEvents", map[string]any{"workflow": "shop", "items": two}); p.Code != "item.invalid" ||
		!strings.Contains(p.Detail, "item 1 ") {
		t.Errorf("an item without a message id: %+v", p)
	}
	if p := b.refused("cancelEvent", map[string]any{"workflow": "shop", "topic": "order.in",
		"messageId": "nobody"}); p.Status != 404 || p.Code != "event.unknown" {
		t.Errorf("an unknown event: %+v", p)
	}
	b.push("shop", "a")
	b.engine.Rest("shop")
	for _, id := range []string{"skipEvent", "cancelEvent", "redriveEvent"} {
		if p := b.refused(id, map[string]any{"workflow": "shop", "topic": "order.in", "messageId": "a"}); p.Status != 409 ||
			p.Code != "job.state" {
			t.Errorf("%s of a completed job: %+v", id, p)
		}
	}
}

// TestCallConnectorIsRefused: no call leaves that is not confirmed, or that no connector offers.
func TestCallConnectorIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, calls())
	if p := b.refused("callConnector", map[string]any{"connector": "world", "operation": "fire"}); p.Status != 409 ||
		p.Code != "mutation.unconfirmed" {
		t.Errorf("unconfirmed: %+v", p)
	}
	if p := b.refused("callConnector", map[string]any{"connector": "world", "operation": "nothing",
		"mutate": true}); p.Status != 404 {
		t.Errorf("unknown: %+v", p)
	}
	if n := len(b.bench.World.Effects()); n != 0 {
		t.Errorf("%d effects", n)
	}
	b.bench.World.OnRead(func(connector.Call) (json.RawMessage, error) {
		return nil, enginetest.Failing(eventlog.Auth, "world.password")
	})
	var v callAnswer
	b.do("callConnector", map[string]any{"connector": "world", "operation": "get"}, &v)
	if v.Outcome != "failed" || v.Error == nil || v.Error.Code != "world.password" {
		t.Errorf("a read that fails: %+v", v)
	}
	b.uncertain()
	b.do("callConnector", map[string]any{"connector": "world", "operation": "fire", "mutate": true}, &v)
	if v.Outcome != "uncertain" || v.Error.Code != "call.timeout" {
		t.Errorf("an uncertain mutation: %+v", v)
	}
}
