// A chain of consumers that goes on in parts until there is no more.
const size = 100;

export default Pawl.workflow({
  name: "chain",
  topics: { part: {}, done: {} },
  consumers: {
    work: Pawl.consumer({
      subscribe: ["part"],
      async prepare(ctx) {
        const [part] = await ctx.peek("part", { limit: 1 });
        if (!part) return { reservations: [], data: null };
        const { list, from = 0 } = part.payload;
        const { body } = await ctx.http.get({ url: `https://api.example.com/lists/${list}?from=${from}&n=${size}` });
        const { items, total } = body;
        return {
          reservations: [{ topic: "part", ids: [part.id] }],
          data: { list, from, items, more: from + size < total },
          ui: { title: `Part ${from} of ${list}` },
        };
      },
      async mutate(ctx, { data }) {
        await ctx.http.post({ url: "https://api.example.com/import", body: { list: data.list, items: data.items } });
      },
      async next(ctx, { data }, { status }) {
        if (!data || status !== "applied") return;
        const { list, from, more } = data;
        const to = from + size;
        if (more) await ctx.publish("part", { messageId: `${list}/${to}`, title: `Part ${to}`, payload: { list, from: to } });
        else await ctx.publish("done", { messageId: list, title: `Done ${list}`, payload: { list } });
      },
    }),
  },
});
