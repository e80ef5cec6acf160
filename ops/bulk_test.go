package ops

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// awaiting deploys workflows each of which has a call that awaits approval, and names the mutations by workflow.
func (b *bundle) awaiting(names ...string) map[string]string {
	b.t.Helper()
	ids := map[string]string{}
	for _, name := range names {
		b.deploy(name, "fire", eventlog.GrantAsk)
		b.push(name, name+"-1")
		b.engine.Rest(eventlog.WorkflowName(name))
		ids[name] = b.only(name)
	}
	return ids
}

// C11: what was counted is what is acted on. A mutation that awaits approval since then is not touched, and neither is
// one whose parameters are not those that were counted.
func TestC11_ExactlyTheCountedMutations(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.awaiting("shop", "post")

	var counted mutationsAnswer
	b.do("approveMutations", map[string]any{"held": "approval", "dryRun": true}, &counted)
	if counted.Matched != 2 || counted.Updated != 0 || len(counted.Items) != 2 || counted.More {
		t.Fatalf("counted %+v", counted)
	}
	if got := b.facts("shop")["mutation.approved"]; got != 0 {
		t.Fatalf("a count approved %d", got)
	}
	later := b.awaiting("late")["late"]

	items := []map[string]any{}
	for _, m := range counted.Items {
		items = append(items, map[string]any{"id": m.ID, "workflow": m.Workflow, "paramsHash": m.ParamsHash})
	}
	items = append(items, map[string]any{"id": "NOBODY", "paramsHash": "x"}, items[0]) // a repeat is the same item
	var done mutationsAnswer
	b.do("approveMutations", map[string]any{"items": items, "comment": "seen by two"}, &done)
	if done.Matched != 3 || done.Updated != 2 || len(done.Noop) != 1 || done.Noop[0].ID != "NOBODY" {
		t.Errorf("approved %+v", done)
	}
	for name := range ids {
		b.engine.Rest(eventlog.WorkflowName(name))
	}
	if got := b.bench.World.Effects(); len(got) != 2 {
		t.Errorf("these have left: %v", got)
	}
	var m readmodel.Mutation
	b.do("getMutation", map[string]any{"mutation": ids["shop"]}, &m)
	if m.Comment == nil || m.Comment.Text != "seen by two" || m.Comment.By.Name != "ann" || m.Comment.At == 0 {
		t.Errorf("the comment is %+v", m.Comment)
	}
	b.do("getMutation", map[string]any{"mutation": later}, &m)
	if m.Status != eventlog.MutationStatusAwaitingApproval {
		t.Errorf("what came after the count is %s", m.Status)
	}

	b.do("approveMutations", map[string]any{"items": []any{map[string]any{"id": later, "paramsHash": "of another call"}}},
		&done)
	if done.Updated != 0 || len(done.Noop) != 1 || done.Noop[0].Code != "approval.changed" {
		t.Errorf("other parameters: %+v", done)
	}
	for what, params := range map[string]map[string]any{
		"without a hash": {"items": []any{map[string]any{"id": later}}},
		"of nothing":     {},
		"of both":        {"items": []any{map[string]any{"id": later, "paramsHash": "x"}}, "q": "late"},
		"of many":        {"q": "late", "limit": maxChanged + 1},
	} {
		if p := b.refused("approveMutations", params); p.Code != "bulk.invalid" || p.Status != 422 {
			t.Errorf("%s: %+v", what, p)
		}
	}
	if p := b.refused("rejectMutations", map[string]any{"workflow": "late",
		"comment": strings.Repeat("x", 5000)}); p.Code != "comment.invalid" {
		t.Errorf("a long comment: %+v", p)
	}
	b.do("rejectMutations", map[string]any{"workflow": "late", "comment": "not now"}, &done)
	b.engine.Rest("late")
	b.do("getMutation", map[string]any{"mutation": later}, &m)
	if done.Updated != 1 || *m.ResolvedBy != eventlog.ResolvedByUserReject || m.Comment.Text != "not now" {
		t.Errorf("rejected %+v: %+v", done, m)
	}
}

// O1-O4 in bulk: only what is indeterminate is resolved, and each that is not says why.
func TestC11_ResolveByFilter(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.uncertain()
	ids := b.awaiting("shop", "post")
	b.do("approveMutations", map[string]any{"workflow": "shop"}, nil)
	b.engine.Rest("shop")

	var done mutationsAnswer
	for class, fit := range map[eventlog.Class]int{eventlog.Logic: 0, eventlog.Transient: 1} {
		b.do("resolveMutations", map[string]any{"class": class, "resolution": "skip", "dryRun": true}, &done)
		if done.Matched != fit {
			t.Errorf("%d mutations have an error of class %s: %+v", done.Matched, class, done)
		}
	}
	b.do("resolveMutations", map[string]any{"since": "2020-01-01T00:00:00Z", "resolution": "skip", "comment": "looked"},
		&done)
	if done.Matched != 1 || done.Updated != 1 || string(done.Items[0].ID) != ids["shop"] {
		t.Errorf("resolved %+v", done)
	}
	b.do("resolveMutations", map[string]any{"held": "approval", "resolution": "skip"}, &done)
	if done.Matched != 1 || done.Updated != 0 || done.Noop[0].Code != "mutation.state" {
		t.Errorf("what awaits approval: %+v", done)
	}
	var m readmodel.Mutation
	b.do("getMutation", map[string]any{"mutation": ids["shop"]}, &m)
	if m.ResolvedBy == nil || *m.ResolvedBy != eventlog.ResolvedByUserSkip || m.Comment.Text != "looked" {
		t.Errorf("resolved as %+v", m)
	}
}

// C11 for events: those that were listed are changed, an event that was published later is not; times are those of
// publishing.
func TestC11_ExactlyTheCountedEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "fire", eventlog.GrantAsk)
	b.do("pauseWorkflow", map[string]any{"workflow": "shop"}, nil)
	b.push("shop", "a", "b")
	var listed readmodel.Page[readmodel.Job]
	b.do("listWorkflowJobs", map[string]any{"workflow": "shop", "state": "available"}, &listed)
	b.push("shop", "c")
	items := []map[string]any{}
	for _, job := range listed.Items {
		items = append(items, map[string]any{"topic": job.Topic, "messageId": job.MessageID})
	}
	var done bulkAnswer
	b.do("skipEvents", map[string]any{"workflow": "shop", "items": items, "held": "repair"}, &done)
	if done.Updated != 0 || len(done.Noop) != 2 || !strings.Contains(done.Noop[0].Reason, "not held for repair any more") {
		t.Errorf("what is not held was changed: %+v", done)
	}
	b.do("skipEvents", map[string]any{"workflow": "shop", "items": items}, &done)
	if done.Matched != 2 || done.Updated != 2 {
		t.Errorf("skipped %+v", done)
	}
	b.do("listWorkflowJobs", map[string]any{"workflow": "shop", "state": "available"}, &listed)
	if len(listed.Items) != 1 || listed.Items[0].MessageID != "c" || listed.Items[0].Held != nil {
		t.Errorf("left are %+v", listed.Items)
	}
	now := listed.Items[0].PublishedAt
	b.do("skipEvents", map[string]any{"workflow": "shop", "until": now, "dryRun": true}, &done)
	if done.Matched != 0 {
		t.Errorf("published before: %+v", done)
	}
	b.do("skipEvents", map[string]any{"workflow": "shop", "since": now, "dryRun": true}, &done)
	if done.Matched != 1 {
		t.Errorf("published since: %+v", done)
	}
	if p := b.refused("skipEvents", map[string]any{"workflow": "shop", "held": "nobody"}); p.Code != "bulk.invalid" {
		t.Errorf("an unknown reason: %+v", p)
	}
}
