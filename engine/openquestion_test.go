package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
)

// That a call is open after its deadline is on record soon, also where the outside lets the first question about it
// wait for as long as it can: a process that died before would leave its successor believing a no too early (F5).
func TestF5_AnOpenCallIsOnRecordSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(time.Minute) // what the engine leaves behind ends in the bubble
		const timeout, soon = 30 * time.Second, 3 * time.Second
		b := enginetest.NewOn(t, memlog.New(memlog.Config{}))
		b.World.Ending = connector.DefaultEnding()
		b.World.Offer(connector.Operation{Name: "send", Kind: connector.Mutate, Reconciles: true, Timeout: timeout})
		end := make(chan struct{})
		b.World.OnPerform(func(_ context.Context, call connector.Call) connector.Outcome {
			<-end
			return b.World.Apply(call)
		})
		b.World.OnReconcile(func(connector.Call) connector.Reconciliation {
			<-end
			return connector.RetryWith(nil)
		})
		e := b.Start()
		e.MustDeploy(ordersWorkflow)
		e.MustPush("orders", "order.in", "a")
		time.Sleep(timeout + soon)
		found := 0
		s, _ := e.State("orders")
		for _, m := range s.Mutations() {
			if found++; m.Status != eventlog.MutationStatusNeedsReconcile || m.OverAt != 0 {
				t.Errorf("%s after its deadline the call is %s, over at %s; want needs_reconcile, and no time", soon, m.Status,
					m.OverAt)
			}
		}
		if found != 1 {
			t.Errorf("there are %d calls, want 1", found)
		}
		close(end)
		if err := e.Stop(); err != nil {
			t.Error(err)
		}
	})
}
