package ops

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// request is one of several that are made at the same time.
type request struct {
	id     string
	params map[string]any
}

// atOnce makes the requests together, and counts the answers by their problem's code; "" is success.
func (b *bundle) atOnce(requests ...request) map[string]int {
	b.t.Helper()
	var all sync.WaitGroup
	start := make(chan struct{})
	errs := make([]error, len(requests))
	for i, r := range requests {
		all.Go(func() {
			<-start
			errs[i] = b.client.Do(b.t.Context(), r.id, r.params, nil)
		})
	}
	close(start)
	all.Wait()
	codes := map[string]int{}
	for _, err := range errs {
		var p *rpc.Problem
		switch {
		case err == nil:
			codes[""]++
		case errors.As(err, &p):
			codes[p.Code]++
		default:
			b.t.Fatal(err)
		}
	}
	return codes
}

// facts counts the facts of a workflow's log.
func (b *bundle) facts(w eventlog.WorkflowName) map[eventlog.FactType]int {
	b.t.Helper()
	counted := map[eventlog.FactType]int{}
	for r, err := range b.bench.Log.ReadWorkflow(b.t.Context(), w, 1) {
		if err != nil {
			b.t.Fatal(err)
		}
		for _, f := range r.Facts {
			counted[f.FactType()]++
		}
	}
	return counted
}

// mutationIn returns the only mutation of that status.
func (b *bundle) mutationIn(workflow, status string) eventlog.MutationID {
	b.t.Helper()
	var page readmodel.Page[readmodel.Mutation]
	b.do("listWorkflowMutations", map[string]any{"workflow": workflow, "status": status}, &page)
	if len(page.Items) != 1 {
		b.t.Fatalf("%d mutations are %s, want 1", len(page.Items), status)
	}
	return page.Items[0].ID
}

func several(n int, rs ...request) (all []request) {
	for range n {
		all = append(all, rs...)
	}
	return all
}

func want(t *testing.T, what string, got, want map[string]int) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("%s: answers by code %v, want %v", what, got, want)
	}
}

// Several people act at the same time: one is first, the others are told that it is done, and nothing is
// done twice.
func TestConcurrentActionsHaveOneWinner(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "fire", eventlog.GrantAsk)
	on := func(id string, pairs ...any) request {
		params := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			params[pairs[i].(string)] = pairs[i+1]
		}
		return request{id, params}
	}

	b.push("shop", "a")
	b.engine.Rest("shop")
	id := b.mutationIn("shop", "awaiting_approval")
	want(t, "approve or reject",
		b.atOnce(several(4, on("approveMutation", "mutation", id), on("rejectMutation", "mutation", id))...),
		map[string]int{"": 1, "mutation.state": 7})
	b.engine.Rest("shop")
	facts := b.facts("shop")
	if facts["mutation.approved"]+facts["mutation.skipped"] != 1 ||
		len(b.bench.World.Effects()) != facts["mutation.approved"] {
		t.Errorf("approve or reject: effects %v, facts %v", b.bench.World.Effects(), facts)
	}

	b.uncertain()
	b.push("shop", "b")
	b.engine.Rest("shop")
	b.do("approveMutation", map[string]any{"mutation": b.mutationIn("shop", "awaiting_approval")}, nil)
	b.engine.Rest("shop")
	before := b.facts("shop")
	id = b.mutationIn("shop", "indeterminate")
	want(t, "resolve", b.atOnce(several(3, on("resolveMutation", "mutation", id, "resolution", "skip"),
		on("resolveMutation", "mutation", id, "resolution", "did_not_happen"))...),
		map[string]int{"": 1, "mutation.state": 5})
	b.engine.Rest("shop")
	facts = b.facts("shop")
	if n := facts["mutation.skipped"] - before["mutation.skipped"] +
		facts["mutation.failed"] - before["mutation.failed"]; n != 1 {
		t.Errorf("resolve: resolved %d times", n)
	}

	b.do("archiveWorkflow", map[string]any{"workflow": "shop"}, nil)
	b.deploy("post", "fire", eventlog.GrantAsk)
	b.do("pauseWorkflow", map[string]any{"workflow": "post"}, nil)
	b.push("post", "a")
	job := []any{"workflow", "post", "topic", "order.in", "messageId", "a"}
	want(t, "cancel", b.atOnce(several(6, on("cancelEvent", job...))...), map[string]int{"": 6})
	want(t, "redrive", b.atOnce(several(6, on("redriveEvent", job...))...), map[string]int{"": 6})
	want(t, "pause", b.atOnce(several(6, on("pauseWorkflow", "workflow", "post"))...), map[string]int{"": 6})
	if facts = b.facts("post"); facts["event.skipped"] != 1 || facts["event.redriven"] != 1 ||
		facts["workflow.paused"] != 1 {
		t.Errorf("what is done already was done again: %v", facts)
	}

	var deploys []request
	for i := range 4 {
		source := orders("post", "fire") + fmt.Sprintf("// version %d\n", i)
		deploys = append(deploys, on("deployWorkflow", "source", source, "filename", "post.ts", "expectedVersion", "1.0"))
	}
	want(t, "deploy", b.atOnce(deploys...), map[string]int{"": 1, "version.moved": 3})
	if facts = b.facts("post"); facts["workflow.deployed"] != 2 {
		t.Errorf("deployed %d times, want 2", facts["workflow.deployed"])
	}
}

// Two people change different grants at the same time and both get what they wanted; of two changes of the
// same grant the later one stays.
func TestConcurrentGrantsAreAllKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "fire", eventlog.GrantAsk)
	var changes []request
	wanted := map[string]eventlog.Grant{"*": eventlog.GrantAsk}
	for i := range 8 {
		capability := fmt.Sprintf("tool%d.*", i)
		wanted[capability] = eventlog.GrantDeny
		changes = append(changes,
			request{"changeGrants", map[string]any{"workflow": "shop", "grants": map[string]any{capability: "deny"}}})
	}
	want(t, "change", b.atOnce(changes...), map[string]int{"": 8})
	var now grantsAnswer
	b.do("getGrants", map[string]any{"workflow": "shop"}, &now)
	if !maps.Equal(now.Grants, wanted) {
		t.Errorf("grants %v, want %v", now.Grants, wanted)
	}
	before := b.last()
	now = grantsAnswer{}
	b.do("changeGrants", map[string]any{"workflow": "shop", "grants": map[string]any{"tool0.*": nil, "tool1.*": "deny",
		"world.fire": "allow"}}, &now)
	delete(wanted, "tool0.*")
	wanted["world.fire"] = eventlog.GrantAllow
	if !maps.Equal(now.Grants, wanted) || now.Operations[0].Grant != eventlog.GrantAllow || b.last() != before+1 {
		t.Errorf("grants %v, want %v in one transition", now, wanted)
	}
	if b.do("changeGrants", map[string]any{"workflow": "shop", "grants": map[string]any{"world.fire": "allow"}},
		nil); b.last() != before+1 {
		t.Error("a change that changes nothing was recorded")
	}
}
