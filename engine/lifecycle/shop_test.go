package lifecycle_test

import "strings"

// shop is a workflow that sends one call per order and publishes a receipt. Each field is put into
// the script at its place; the empty one leaves the plain form.
type shop struct {
	options  string // of the consumer, e.g. "maxAttempts: 2,"
	prepare  string // before the order is reserved
	mutate   string // instead of the call
	next     string // before the receipt is published
	producer string // a producer's body
	more     string // further consumers
	many     bool   // the consumer is concurrent, and so has no state
}

const call = `await ctx.world.send({ order: data.order });`

// fires makes the call one that its connector cannot be asked about.
const fires = `await ctx.world.fire({ order: data.order });`

func (s shop) source() string {
	if s.mutate == "" {
		s.mutate = call
	}
	if s.producer != "" {
		s.producer = "poll: { interval: \"1h\", async handler(ctx) { " + s.producer + " } }"
	}
	state := "return { last: data.order, result: result.status };"
	if s.many {
		s.options, state = "concurrency: 3, "+s.options, ""
	}
	return strings.NewReplacer("STATE", state, "OPTIONS", s.options, "PREPARE", s.prepare, "MUTATE", s.mutate, "NEXT", s.next, "PRODUCER", s.producer, "MORE", s.more).Replace(`
export default Keep.workflow({
  name: "shop",
  topics: { orders: {}, receipts: {}, letters: {} },
  producers: { PRODUCER },
  consumers: {
    send: Keep.consumer({
      subscribe: ["orders"], OPTIONS
      async prepare(ctx, state) {
        const [order] = await ctx.peek("orders");
        if (!order) return { reservations: [], data: null };
        PREPARE
        return { reservations: [{ topic: "orders", ids: [order.id] }], data: { order: order.id }, ui: { title: "Send " + order.id } };
      },
      async mutate(ctx, { data }) { MUTATE },
      async next(ctx, { data }, result) {
        if (!data) return;
        NEXT
        await ctx.publish("receipts", { messageId: "receipt-" + data.order, title: "Receipt " + data.order, payload: result });
        STATE
      },
    }),
    MORE
  },
});
`)
}
