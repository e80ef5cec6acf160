// One call for many events, with totals, a Map that becomes an object, and a page loop.
async function pending(ctx: any, topic: string, most = 5000) {
  const all: any[] = [];
  let after: string | undefined;
  while (all.length < most) {
    const page = await ctx.peek(topic, { limit: 1000, after });
    all.push(...page);
    if (page.length < 1000) break;
    after = page.at(-1).id;
  }
  return all;
}

export default Pawl.workflow({
  name: "totals",
  topics: { sale: {} },
  consumers: {
    report: Pawl.consumer({
      subscribe: ["sale"],
      async prepare(ctx) {
        const sales = await pending(ctx, "sale");
        if (sales.length === 0) return { reservations: [], data: null };
        const byShop = new Map<string, number>();
        for (const { payload } of sales) byShop.set(payload.shop, (byShop.get(payload.shop) ?? 0) + payload.amount);
        const total = sales.reduce((sum, sale) => sum + sale.payload.amount, 0);
        return {
          reservations: [{ topic: "sale", ids: sales.map((sale) => sale.id) }],
          data: { total, shops: Object.fromEntries(byShop) },
          ui: { title: `Report of ${sales.length} sales` },
        };
      },
      async mutate(ctx, { data }) {
        await ctx.http.post({ url: "https://api.example.com/reports", body: data });
      },
    }),
  },
});
