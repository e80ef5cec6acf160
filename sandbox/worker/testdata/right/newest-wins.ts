// Of several events about the same thing the newest counts; the others are dropped by name.
export default Pawl.workflow({
  name: "newest-wins",
  topics: { price: {}, saved: {} },
  consumers: {
    set: Pawl.consumer({
      subscribe: ["price"],
      async prepare(ctx) {
        const prices = await ctx.peek("price", { limit: 1000 });
        if (!prices.length) return { reservations: [], data: null };
        const sku = prices[0].payload.sku;
        const same = prices.filter((price) => price.payload.sku === sku);
        const newest = same[same.length - 1];
        const older = same.slice(0, -1);
        return {
          reservations: [{ topic: "price", ids: [newest.id] }],
          cancel: [{ topic: "price", ids: older.map((price) => price.id), reason: "a newer price came" }],
          data: { sku, price: newest.payload.price, dropped: older.length },
          ui: { title: `Price of ${sku}: ${newest.payload.price}` },
        };
      },
      async mutate(ctx, { data: { sku, price } }) {
        await ctx.http.put({ url: `https://api.example.com/prices/${encodeURIComponent(sku)}`, body: { price } });
      },
    }),
    sync: Pawl.consumer({
      subscribe: ["saved"],
      async prepare(ctx) {
        const saved = await ctx.peek("saved", { limit: 1000 });
        const last = saved.at(-1);
        if (!last) return { reservations: [], data: null };
        const quiet = Date.parse(last.payload.at) + 5 * 60_000;
        if (ctx.now() < quiet) return { reservations: [], data: null, wakeAt: new Date(quiet).toISOString() };
        return {
          reservations: [{ topic: "saved", ids: saved.map(({ id }) => id) }],
          data: { version: last.payload.version },
          ui: { title: `Publish version ${last.payload.version}` },
        };
      },
      async mutate(ctx, { data }) {
        await ctx.http.post({ url: "https://api.example.com/publish", body: data });
      },
    }),
  },
});
