package cluster

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// An engine whose lease is over sends nothing any more, even a call whose start was recorded in time; it still records
// what became of that, and the next owner sends it.
func TestAnEngineWithoutItsLeaseSendsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: a take-over takes real seconds")
	}
	t.Parallel()
	const workflows = 8
	c := onOneServer(t)
	// Its deadline lies behind the take-over: the next owner asks about it later than this engine knows.
	c.world.Offer(connector.Operation{Name: "send", Kind: connector.Mutate, Reconciles: true, Timeout: time.Minute})
	a, b := c.start("a", 0), c.start("b", 0)
	c.until(20*time.Second, "each owns two partitions", func() bool { return a.owns() == 2 && b.owns() == 2 })
	a.deploy(workflows)
	var its eventlog.WorkflowName // one of a's
	for i := range workflows {
		if a.Partitions()[a.log.PartitionOf(name(i))].Owned {
			its = name(i)
		}
	}
	if its == "" {
		t.Fatal("none of the workflows is in a partition of a")
	}
	connecting, over := make(chan struct{}), make(chan struct{})
	var calls, refused atomic.Int32
	c.world.OnPerform(func(_ context.Context, call connector.Call) connector.Outcome {
		if calls.Add(1) == 1 { // the first one takes long to connect
			close(connecting)
			<-over
		}
		if failure := call.Gate(); failure != nil {
			refused.Add(1)
			return connector.Outcome{Status: connector.Failed, Failure: failure}
		}
		return c.world.Apply(call)
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.push(ctx, its, "order", a); err != nil {
		t.Fatal(err)
	}
	<-connecting
	a.cutOffLeases()
	c.until(20*time.Second, "the other owns all", func() bool { return b.owns() == c.partitions })
	if a.owns() != 0 {
		t.Error("two engines own a partition")
	}
	close(over)
	c.awaitSent(ctx, b.log, its, 1)
	if refused.Load() != 1 {
		t.Errorf("%d calls were kept from leaving, want the first", refused.Load())
	}
	c.wantOnce(1)
	never := false
	for r, err := range b.log.ReadWorkflow(ctx, its, 1) {
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Facts {
			if f, ok := f.(*eventlog.MutationFailed); ok && f.ResolvedBy == eventlog.ResolvedByNeverSent {
				never = true
			}
		}
	}
	if !never {
		t.Error("the log does not say that the first call was never sent")
	}
	b.wantSame(workflows)
}
