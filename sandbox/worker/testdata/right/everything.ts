// A function that pages, called for three topics; a join.
async function everything(ctx, topic) {
  const all = [];
  for (let after; ; ) {
    const page = await ctx.peek(topic, { limit: 1000, after });
    if (page.length === 0) return all;
    all.push(...page);
    after = page.at(-1).messageId;
  }
}
const ids = (events) => events.map((e) => e.messageId);
export default Pawl.workflow({
  name: "everything", topics: { orders: {}, payments: {}, refunds: {} },
  consumers: {
    match: Pawl.consumer({ subscribe: ["orders", "payments"],
      async prepare(ctx) {
        const orders = await everything(ctx, "orders");
        const payments = await everything(ctx, "payments");
        for (const order of orders) {
          const paid = payments.filter((p) => p.payload.order === order.messageId);
          const sum = paid.reduce((n, p) => n + p.payload.amount, 0);
          if (sum >= order.payload.total) {
            return {
              reservations: [{ topic: "orders", ids: [order.messageId] }, { topic: "payments", ids: ids(paid) }],
              data: { order: order.messageId, sum, open: orders.length - 1 }, ui: { title: `Paid ${order.messageId}` },
            };
          }
        }
        return { reservations: [], data: null };
      },
      mutate: (ctx, { data }) => ctx.csv.appendRow({ file: "x.csv", values: [data.order, data.sum] }) }),
    refund: Pawl.consumer({ subscribe: ["refunds"],
      async prepare(ctx) {
        const refunds = await everything(ctx, "refunds");
        if (refunds.length === 0) return { reservations: [], data: null };
        const latest = refunds[refunds.length - 1];
        return { reservations: [{ topic: "refunds", ids: ids(refunds) }], data: { at: latest.payload.at }, ui: { title: `Refunds until ${latest.payload.at}` } };
      },
      mutate: (ctx, { data }) => ctx.csv.appendRow({ file: "x.csv", values: [data.at] }) }),
  },
});
