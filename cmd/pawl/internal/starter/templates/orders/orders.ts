// One row per paid order. Orders are pushed in from outside: by `pawl push`, over HTTP or over NATS.

/** What the shop says of an order. */
type Order = { id: string; total: number };

export default Pawl.workflow<{ "order.paid": Order }>({
  name: "orders",

  topics: {
    "order.paid": {},
  },

  consumers: {
    book: Pawl.consumer({
      subscribe: ["order.paid"],

      // Reads, and chooses what to work on. It may run again.
      async prepare(ctx) {
        const [event] = await ctx.peek("order.paid", { limit: 1 });
        if (!event) return { reservations: [], data: null };
        return {
          reservations: [{ topic: "order.paid", ids: [event.id] }],
          data: event.payload,
          ui: { title: `Book ${event.title}` },
        };
      },

      // Names one change. Pawl writes it down, then sends it, once.
      async mutate(ctx, { data }) {
        const { id, total } = data;
        await ctx.csv.appendRow({ file: "orders.csv", header: ["id", "total"], values: { id, total } });
      },
    }),
  },
});
