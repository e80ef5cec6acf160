package engine_test

import (
	"slices"
	"testing"

	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
)

// ordersWorkflow sends one call per pushed order and publishes what came of it.
const ordersWorkflow = `
export default Keep.workflow({
  name: "orders",
  topics: { "order.in": {}, "order.sent": {} },
  consumers: {
    send: Keep.consumer({
      subscribe: ["order.in"],
      async prepare(ctx, state) {
        const [event] = await ctx.peek("order.in");
        if (!event) return { reservations: [], data: {} };
        return {
          reservations: [{ topic: event.topic, ids: [event.messageId] }],
          data: { order: event.payload.id },
          ui: { title: "Send order " + event.payload.id },
        };
      },
      async mutate(ctx, prepared) {
        await ctx.world.send({ order: prepared.data.order });
      },
      async next(ctx, prepared, result) {
        if (result.status === "applied") {
          await ctx.publish("order.sent", { messageId: "sent:" + prepared.data.order, title: "Order " + prepared.data.order + " sent", payload: result.result });
        }
        return { last: prepared.data.order ?? null };
      },
    }),
  },
});
`

// A pushed event goes through prepare, one mutation and next, in four writes and an empty run's one.
func TestRunFromPushToCommit(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	e := b.Start()
	e.MustDeploy(ordersWorkflow)
	e.Rest("orders")
	e.MustPush("orders", "order.in", "a", "b")
	s := e.Rest("orders")
	if got := len(b.World.Effects()); got != 2 || len(b.World.Twice()) > 0 {
		t.Fatalf("effects: %v", b.World.Effects())
	}
	if s.Blocked != nil || s.CurrentRun() != nil || s.PendingRetry != "" {
		t.Fatalf("not at rest: %+v", s.Workflow)
	}
	full := b.FullFold("orders")
	for _, id := range []eventlog.MessageID{"a", "b"} {
		if e := full.Event("order.in", id); e == nil || e.Status != eventlog.EventStatusConsumed {
			t.Fatalf("event %s: %+v", id, e)
		}
		if e := full.Event("order.sent", "sent:"+id); e == nil || len(e.CausedBy) != 1 {
			t.Fatalf("downstream of %s: %+v", id, e)
		}
	}
	want := []string{
		"workflow.deployed", "run.committed", // deploy starts the first run, which finds nothing
		"event.published",
		"mutation.started", "mutation.applied", "run.committed",
		"mutation.started", "mutation.applied", "run.committed",
		"run.committed", // one empty run (S3)
	}
	if got := b.Kinds("orders"); !slices.Equal(got, want) {
		t.Fatalf("transitions:\n got %v\nwant %v", got, want)
	}
}
