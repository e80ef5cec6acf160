package bench

import (
	"fmt"
	"strconv"
	"strings"
)

func benchName(i int) string { return "bench-" + strconv.Itoa(i) }

// Source is the workflow that is measured. Its consumer works on one order after the other, or on so many at once.
func Source(name, sink string, concurrency int) string {
	options := ""
	if concurrency > 0 {
		options = fmt.Sprintf("\n      concurrency: %d,", concurrency)
	}
	return strings.NewReplacer("{NAME}", name, "{SINK}", sink, "{OPTIONS}", options).Replace(source)
}

const source = `export default Pawl.workflow({
  name: "{NAME}",
  topics: { order: {}, sent: {} },
  consumers: {
    send: Pawl.consumer({
      subscribe: ["order"],{OPTIONS}
      async prepare(ctx) {
        const [event] = await ctx.peek("order", { limit: 1 });
        if (!event) return { reservations: [], data: {} };
        const order = event.payload;
        const total = order.items.reduce((sum, item) => sum + item.price * item.quantity, 0);
        return {
          reservations: [{ topic: "order", ids: [event.messageId] }],
          data: { to: order.customer.email, subject: "Order " + order.id + ": " + order.items.length + " items, " + total.toFixed(2) + " EUR" },
          ui: { title: "Confirm order " + order.id },
        };
      },
      async mutate(ctx, prepared) {
        await ctx.http.post({ url: "{SINK}", body: prepared.data });
      },
      async next(ctx, prepared, result) {
        if (result.status !== "applied") return;
        await ctx.publish("sent", {
          messageId: "sent:" + prepared.data.subject,
          title: "Sent " + prepared.data.subject,
          payload: { to: prepared.data.to, subject: prepared.data.subject, receipt: result.result.body.receipt, channel: "mail", note: "confirmation of the order as it was received" },
        });
      },
    }),
  },
});
`
