// Two topics in one list, sorted by their time; the first of them, whichever it is.
export default Pawl.workflow({
  name: "merged",
  topics: { deposit: {}, withdrawal: {} },
  consumers: {
    book: Pawl.consumer({
      subscribe: ["deposit", "withdrawal"],
      async prepare(ctx) {
        const deposits = await ctx.peek("deposit", { limit: 200 });
        const withdrawals = await ctx.peek("withdrawal", { limit: 200 });
        const all = [...deposits, ...withdrawals].sort((a, b) => a.payload.at - b.payload.at);
        const event = all[0];
        if (!event) return { reservations: [], data: null };
        const sign = event.topic === "deposit" ? 1 : -1;
        const amount = sign * event.payload.amount;
        return {
          reservations: [{ topic: event.topic, ids: [event.id] }],
          data: { account: event.payload.account, amount, waiting: all.length - 1 },
          ui: { title: `Book ${amount} on ${event.payload.account}` },
        };
      },
      async mutate(ctx, { data }) {
        await ctx.csv.appendRow({ file: "accounts.csv", header: ["account", "amount"], values: [data.account, data.amount] });
      },
    }),
  },
});
