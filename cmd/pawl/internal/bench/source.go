package bench

import "strconv"

func benchName(i int) string { return "bench-" + strconv.Itoa(i) }

// Source is the workflow that is measured, one copy per item in flight.
const Source = `export default Pawl.workflow({
  name: "{NAME}",
  topics: { order: {}, sent: {} },
  consumers: {
    send: Pawl.consumer({
      subscribe: ["order"],
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
