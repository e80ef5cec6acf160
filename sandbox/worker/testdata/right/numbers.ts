// A gapless number in the state, and a parameter with a default.
const next = (state: { last: number } | null, step = 1) => (state?.last ?? 1000) + step;

export default Pawl.workflow({
  name: "numbers",
  topics: { sale: {} },
  consumers: {
    invoice: Pawl.consumer({
      subscribe: ["sale"],
      approval: ({ data }) => data.amount > 1000,
      async prepare(ctx, state = { last: 1000 }) {
        const [sale] = await ctx.peek("sale", { limit: 1 });
        if (!sale) return { reservations: [], data: null };
        const number = next(state);
        return {
          reservations: [{ topic: "sale", ids: [sale.id] }],
          data: { number, amount: sale.payload.amount },
          ui: { title: `Invoice ${number}` },
        };
      },
      async mutate(ctx, { data }) {
        await ctx.http.post({ url: "https://api.example.com/invoices", body: data });
      },
      async next(ctx, { data }, outcome) {
        if (outcome.status === "applied") return { last: data.number };
      },
    }),
  },
});
