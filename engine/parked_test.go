package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// unsentWorkflow is ordersWorkflow without the consumer that sends the orders.
const unsentWorkflow = `
export default Keep.workflow({
  name: "orders",
  topics: { "order.in": {}, "order.sent": {} },
  consumers: { look: Keep.consumer({ subscribe: ["order.sent"], async prepare() { return { reservations: [] }; } }) },
});
`

// waiting says which events of order.in stand in the queue, and how many there are.
func waiting(b *enginetest.Harness, s *projections.State) (queued []eventlog.MessageID, all int) {
	full := b.FullFold("orders")
	ids := map[projections.Ordinal]eventlog.MessageID{}
	for _, e := range full.Events() {
		ids[e.Created] = e.MessageID
	}
	for q := range s.Queue("order.in") {
		queued = append(queued, ids[q.Created])
	}
	for _, w := range s.Waiting {
		if w.Topic == "order.in" {
			all = w.Events
		}
	}
	return queued, all
}

// Events without a subscriber stay out of memory; the deploy of a subscriber brings all of
// them back, oldest first, and the deploy that drops it lets go of what is left.
func TestEventsWaitForTheirSubscriberOutsideMemory(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	e := b.Start()
	e.MustDeploy(ordersWorkflow) // grants its call
	e.MustDeploy(unsentWorkflow)
	e.MustPush("orders", "order.in", "b", "a", "c")
	e.Rest("orders")
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}

	e = b.Start()
	if in, all := waiting(b, e.Rest("orders")); len(in) != 0 || all != 3 {
		t.Fatalf("after a restart %v are queued, %d wait; want none and 3", in, all)
	}
	if err := e.Operate(t.Context(), enginetest.Tester, "orders", decide.Pause{}, "pause"); err != nil {
		t.Fatal(err)
	}
	e.MustDeploy(ordersWorkflow)
	if in, all := waiting(b, e.Rest("orders")); !slices.Equal(in, []eventlog.MessageID{"b", "a", "c"}) || all != 3 {
		t.Fatalf("with a subscriber %v are queued, %d wait", in, all)
	}

	e.MustDeploy(unsentWorkflow + "// without it again")
	e.MustPush("orders", "order.in", "d")
	if err := e.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.MustPush("orders", "order.sent", "x") // the next record lets go of what the store has
	if in, all := waiting(b, e.Rest("orders")); slices.Contains(in, "a") || all != 4 {
		t.Fatalf("without the subscriber %v are queued, %d wait; want not a, and 4", in, all)
	}

	e.MustDeploy(strings.Replace(ordersWorkflow, "Send order", "Send the order", 1))
	if err := e.Operate(t.Context(), enginetest.Tester, "orders", decide.Resume{}, "resume"); err != nil {
		t.Fatal(err)
	}
	s := e.Rest("orders")
	if in, all := waiting(b, s); len(in) != 0 || all != 0 || len(b.World.Effects()) != 4 || len(b.World.Twice()) != 0 {
		t.Fatalf("%v are queued, %d wait; effects %v", in, all, b.World.Effects())
	}
	full := b.FullFold("orders")
	for _, in := range full.Inputs() {
		if in.Type == "order.in" && in.Open != 1 { // what was sent of it waits in order.sent
			t.Errorf("input %+v", in)
		}
	}
}
