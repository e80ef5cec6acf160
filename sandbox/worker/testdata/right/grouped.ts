// Reservations that are computed: groups of events, entries of an object, a reduce.
export default Pawl.workflow({
  name: "grouped",
  topics: { order: {}, change: {}, line: {} },
  consumers: {
    ship: Pawl.consumer({
      subscribe: ["order", "change"],
      async prepare(ctx) {
        const events = (await Promise.all(["order", "change"].map((topic) => ctx.peek(topic, { limit: 50 })))).flat();
        if (events.length === 0) return { reservations: [], data: null };
        const customer = events[0].payload.customer;
        const mine = events.filter((event) => event.payload.customer === customer);
        const byTopic = {};
        for (const event of mine) (byTopic[event.topic] ??= []).push(event.id);
        return {
          reservations: Object.entries(byTopic).map(([topic, ids]) => ({ topic, ids })),
          data: { customer, items: mine.map((event) => event.payload.item) },
          ui: { title: `Ship ${mine.length} to ${customer}` },
        };
      },
      async mutate(ctx, { data }) {
        await ctx.http.post({ url: "https://api.example.com/shipments", body: data });
      },
    }),
    sheet: Pawl.consumer({
      subscribe: ["line"],
      async prepare(ctx) {
        const lines = await ctx.peek("line", { limit: 300 });
        const sheets = lines.reduce((map, line) => map.set(line.payload.sheet, [...(map.get(line.payload.sheet) ?? []), line]), new Map());
        const [largest] = [...sheets.values()].sort((a, b) => b.length - a.length);
        if (!largest) return { reservations: [], data: null };
        const { sheet } = largest[0].payload;
        return {
          reservations: [{ topic: "line", ids: largest.map((line) => line.messageId) }],
          data: { sheet, values: largest.map((line) => line.payload.value) },
          ui: { title: `${largest.length} values into ${sheet}` },
        };
      },
      async mutate(ctx, { data: { sheet, values } }) {
        await ctx.csv.appendRow({ file: `${sheet}.csv`, values });
      },
    }),
  },
});
