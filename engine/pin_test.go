package engine_test

import (
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
)

// A tool that is no longer what the deploy pinned is not called, until a deploy accepts it.
func TestChangedConnectorIsNotCalled(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	e := b.Start()
	e.MustDeploy(ordersWorkflow)
	e.Rest("orders")
	_ = e.Stop()
	b.World.Offer(connector.Operation{Name: "send", Kind: connector.Mutate}) // it used to reconcile
	e = b.Start()
	e.MustPush("orders", "order.in", "a")
	s := e.Rest("orders")
	if s.Blocked == nil || s.Blocked.Reason != eventlog.BlockPrecondition || len(b.World.Effects()) != 0 {
		t.Fatalf("blocked %+v, effects %v", s.Blocked, b.World.Effects())
	}
	e.MustDeploy(ordersWorkflow) // the same bytes accept the changed tool
	if err := e.Operate(t.Context(), enginetest.Tester, "orders", decide.Resume{}, "resume"); err != nil {
		t.Fatal(err)
	}
	if e.Rest("orders"); len(b.World.Effects()) != 1 {
		t.Fatalf("effects after the deploy: %v", b.World.Effects())
	}
}

// Neither is one that changed while the call waited for its approval: what was approved was a call of
// another tool.
func TestConnectorThatChangedBeforeTheApprovalIsNotCalled(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	e := b.Start()
	e.MustDeploy(ordersWorkflow)
	operate := func(cmd decide.Command) {
		t.Helper()
		if err := e.Operate(t.Context(), enginetest.Tester, "orders", cmd, "test"); err != nil {
			t.Fatal(err)
		}
	}
	operate(decide.SetGrants{Grants: map[string]eventlog.Grant{"*": eventlog.GrantAsk}})
	e.MustPush("orders", "order.in", "a")
	s := e.Rest("orders")
	waiting := s.CurrentRun().Mutation
	_ = e.Stop()
	b.World.Offer(connector.Operation{Name: "send", Kind: connector.Mutate}) // it used to reconcile
	e = b.Start()
	operate(decide.Approve{Mutation: waiting})
	s = e.Rest("orders")
	if s.Blocked == nil || s.Blocked.Reason != eventlog.BlockPrecondition || len(b.World.Effects()) != 0 {
		t.Fatalf("blocked %+v, effects %v", s.Blocked, b.World.Effects())
	}
	full := b.FullFold("orders")
	if m := full.Mutation(waiting); m.Status != eventlog.MutationStatusFailed ||
		m.ResolvedBy != eventlog.ResolvedByNeverSent {
		t.Fatalf("the mutation: %+v", m)
	}
	e.MustDeploy(ordersWorkflow)
	operate(decide.Resume{})
	s = e.Rest("orders")
	operate(decide.Approve{Mutation: s.CurrentRun().Mutation})
	if e.Rest("orders"); len(b.World.Effects()) != 1 {
		t.Fatalf("effects after the deploy: %v", b.World.Effects())
	}
}
