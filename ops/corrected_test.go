package ops

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// R11, J3: as OPERATIONS.md says, another push with the same id corrects an event that is pending or held. A redrive
// then lets one that is held, or whose call was rejected, go on with the new payload.
func TestWrongContentIsCorrectedByAnotherPush(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deployConcurrent("shop")
	push := func(workflow string, payload map[string]any) {
		b.do("pushEvents", map[string]any{"workflow": workflow, "topic": "order.in", "events": []any{map[string]any{
			"messageId": "o-1", "title": "Order", "payload": payload}}}, nil)
		b.engine.Rest(eventlog.WorkflowName(workflow))
	}
	event := func(workflow string) (e readmodel.Event) {
		b.do("getEvent", map[string]any{"workflow": workflow, "topic": "order.in", "messageId": "o-1"}, &e)
		return e
	}
	redrive := func(workflow string) {
		b.do("redriveEvent", map[string]any{"workflow": workflow, "topic": "order.in", "messageId": "o-1"}, nil)
		b.engine.Rest(eventlog.WorkflowName(workflow))
	}
	push("shop", map[string]any{"k": "x", "crash": true})
	push("shop", map[string]any{"k": "x", "crash": false})
	if e := event("shop"); e.Held == nil || e.Held.Reason != eventlog.HeldRepair ||
		string(e.Payload) != `{"crash":false,"k":"x"}` {
		t.Fatalf("corrected %+v, payload %s", e, e.Payload)
	}
	redrive("shop")
	if e := event("shop"); e.Status != eventlog.EventStatusConsumed || len(b.bench.World.Effects()) != 1 {
		t.Errorf("redriven %+v, effects %v", e, b.bench.World.Effects())
	}

	source := strings.Replace(orders("ask", "send"), "data: { order: event.id }", "data: { order: event.payload.id }", 1)
	b.do("deployWorkflow", map[string]any{"source": source, "filename": "orders.ts",
		"grants": map[string]any{"*": "allow", "world.send": "ask"}}, nil)
	waiting := func() readmodel.Mutation {
		var page readmodel.Page[readmodel.Mutation]
		b.do("listWorkflowMutations", map[string]any{"workflow": "ask", "held": "approval"}, &page)
		if len(page.Items) != 1 {
			t.Fatalf("%d calls wait", len(page.Items))
		}
		return page.Items[0]
	}
	push("ask", map[string]any{"id": "wrong"})
	push("ask", map[string]any{"id": "right"})
	m := waiting()
	if string(m.Params) != `{"order":"wrong"}` {
		t.Errorf("the recorded call: %s", m.Params)
	}
	b.do("rejectMutation", map[string]any{"mutation": m.ID}, nil)
	b.engine.Rest("ask")
	redrive("ask")
	if again := waiting(); string(again.Params) != `{"order":"right"}` || again.ID == m.ID {
		t.Errorf("after the redrive: %s", again.Params)
	}
}
