// Helpers that several consumers call, each with a topic of its own.
const nothing = () => ({ reservations: [], data: null });

async function oldest(ctx, topic) {
  const [event] = await ctx.peek(topic, { limit: 1 });
  return event;
}

async function page(ctx, topic, limit = 100) {
  return await ctx.peek(topic, { limit });
}

const taken = (topic, events) => [{ topic, ids: events.map((event) => event.id) }];
const totalOf = (events) => events.reduce((sum, event) => sum + event.payload.amount, 0);

export default Pawl.workflow({
  name: "shared-helpers",
  topics: { visit: {}, sale: {}, refund: {}, letter: {} },
  consumers: {
    visits: Pawl.consumer({
      subscribe: ["visit"],
      async prepare(ctx) {
        const visit = await oldest(ctx, "visit");
        if (!visit) return nothing();
        return { reservations: taken("visit", [visit]), data: { page: visit.payload.page }, ui: { title: `Visit of ${visit.payload.page}` } };
      },
      mutate: (ctx, { data }) => ctx.csv.appendRow({ file: "visits.csv", values: [data.page] }),
    }),
    sales: Pawl.consumer({
      subscribe: ["sale"],
      async prepare(ctx) {
        const sales = await page(ctx, "sale");
        if (sales.length === 0) return nothing();
        const total = totalOf(sales);
        return { reservations: taken("sale", sales), data: { total }, ui: { title: `${sales.length} sales, ${total}` } };
      },
      mutate: (ctx, { data }) => ctx.csv.appendRow({ file: "sales.csv", values: [data.total] }),
    }),
    refunds: Pawl.consumer({
      subscribe: ["refund"],
      async prepare(ctx) {
        const refunds = await page(ctx, "refund", 10);
        if (refunds.length === 0) return nothing();
        const [first] = refunds;
        const waiting = totalOf(refunds);
        ctx.log(`refunds of ${waiting} wait`);
        return {
          reservations: taken("refund", [first]),
          data: { to: first.payload.to, amount: first.payload.amount },
          ui: { title: `Refund ${first.payload.amount} to ${first.payload.to}` },
        };
      },
      mutate: (ctx, { data }) => ctx.http.post({ url: "https://api.example.com/refunds", body: data }),
    }),
    letters: Pawl.consumer({
      subscribe: ["letter"],
      async prepare(ctx) {
        const letter = await oldest(ctx, "letter");
        if (!letter) return nothing();
        return { reservations: taken("letter", [letter]), data: letter.payload, ui: { title: `Letter to ${letter.payload.to}` } };
      },
      mutate: (ctx, { data }) => ctx.http.post({ url: "https://api.example.com/letters", body: data }),
    }),
  },
});
