package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
	"github.com/pawl-run/pawl/projections"
)

// A record that a foreign writer has put behind the workflow's last one, and that repeats an earlier one, stops the
// workflow: its appends could never follow it.
func TestARecordThatRepeatsStopsItsWorkflow(t *testing.T) {
	t.Parallel()
	log := memlog.New(memlog.Config{})
	e := enginetest.NewOn(t, log).Start()
	e.MustDeploy(ordersWorkflow)
	e.Rest("orders")
	var last eventlog.Record
	for r, err := range log.ReadWorkflow(t.Context(), "orders", 1) {
		if err != nil {
			t.Fatal(err)
		}
		last = r
	}
	stored, err := eventlog.Encode(last.Transition)
	if err != nil {
		t.Fatal(err)
	}
	log.PutRaw("orders", stored)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err = e.Push(ctx, enginetest.Tester, "orders", "order.in", []decide.PushItem{{MessageID: "a", Title: "a"}})
	var refusal *decide.Refusal
	if !errors.As(err, &refusal) || refusal.Code != "workflow.stopped" {
		t.Errorf("push: %v, want workflow.stopped", err)
	}
	if why := e.Stopped()["orders"]; !errors.Is(why, projections.ErrBroken) {
		t.Errorf("stopped by %v, want ErrBroken", why)
	}
}
