// Two topics joined by their payload, with Promise.all and optional members.
export default Pawl.workflow({
  name: "join",
  topics: { order: {}, payment: {} },
  consumers: {
    match: Pawl.consumer({
      subscribe: ["order", "payment"],
      async prepare(ctx) {
        const [orders, payments] = await Promise.all([ctx.peek("order"), ctx.peek("payment")]);
        const paid = new Map(payments.map((payment) => [payment.payload.order, payment]));
        const order = orders.find((each) => paid.has(each.payload.number));
        if (!order) return { reservations: [], data: null };
        const payment = paid.get(order.payload.number);
        return {
          reservations: [{ topic: "order", ids: [order.id] }, { topic: "payment", ids: [payment.id] }],
          data: { number: order.payload.number, amount: payment.payload.amount, note: order.payload?.note ?? null },
          ui: { title: `Order ${order.payload.number} is paid` },
        };
      },
      async mutate(ctx, { data: { number, amount, note } }) {
        await ctx.csv.appendRow({ file: "paid.csv", header: ["number", "amount", "note"], values: [number, amount, note ?? ""] });
      },
    }),
  },
});
