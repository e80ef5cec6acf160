// One payload of two shapes: what comes again counts its tries.
export default Pawl.workflow({
  name: "tries", topics: { found: {}, again: {}, done: {} },
  producers: { look: Pawl.producer({ interval: "1m", async handler(ctx) {
    const { body } = await ctx.http.get({ url: "https://api.example.com/items" });
    for (const item of body.items) await ctx.publish("found", { messageId: item.id, title: `Item ${item.id}`, payload: { id: item.id } });
  } }) },
  consumers: {
    work: Pawl.consumer({ subscribe: ["found", "again"],
      async prepare(ctx) {
        const [again] = await ctx.peek("again", { limit: 1 });
        const [found] = await ctx.peek("found", { limit: 1 });
        const event = again ?? found;
        if (!event) return { reservations: [], data: null };
        const { id, tries = 0 } = event.payload;
        return { reservations: [{ topic: event.topic, ids: [event.id] }], data: { id, tries }, ui: { title: `Item ${id}, try ${tries + 1}` } };
      },
      mutate: (ctx, { data }) => ctx.http.post({ url: "https://api.example.com/work", body: { id: data.id }, expect: [404] }),
      async next(ctx, { data }, outcome) {
        if (!data || outcome.status !== "applied") return;
        if (outcome.result?.status === 404 && data.tries < 3) {
          const tries = data.tries + 1;
          await ctx.publish("again", { messageId: `${data.id}/${tries}`, title: `Item ${data.id} again`, payload: { id: data.id, tries } });
        } else await ctx.publish("done", { messageId: data.id, title: `Item ${data.id} is done`, payload: { id: data.id } });
      } }),
  },
});
