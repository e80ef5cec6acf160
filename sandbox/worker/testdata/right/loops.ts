// Loops of all kinds, a table of what to do, a switch.
export default Pawl.workflow({
  name: "loops",
  topics: { page: {}, row: {}, big: {}, small: {} },
  producers: {
    pages: Pawl.producer({
      cron: "0 6 * * *",
      timezone: "Europe/Berlin",
      async handler(ctx) {
        let url = "https://api.example.com/pages?n=0";
        let count = 0;
        while (url && count < 20) {
          const { body } = await ctx.http.get({ url });
          for (let i = 0; i < body.items.length; i++) {
            const item = body.items[i];
            await ctx.publish("page", { messageId: `page-${item.id}`, title: `Page ${item.id}`, payload: { item } });
          }
          url = body.next;
          count += 1;
        }
        for (const [kind, list] of Object.entries({ a: [1, 2], b: [3] })) {
          for (const n of list) {
            await ctx.publish("row", { messageId: `${kind}-${n}`, title: `Row ${kind}${n}`, payload: { kind, n } });
          }
        }
      },
    }),
  },
  consumers: {
    sort: Pawl.consumer({
      subscribe: ["page", "row"],
      async prepare(ctx) {
        for (const topic of ["page", "row"] as const) {
          const [event] = await ctx.peek(topic, { limit: 1 });
          if (event) {
            return { reservations: [{ topic, ids: [event.id] }], data: { id: event.id, topic }, ui: { title: `Sort ${event.id}` } };
          }
        }
        return { reservations: [], data: null };
      },
      async next(ctx, { data }) {
        if (data === null) return;
        switch (data.topic) {
          case "page":
            await ctx.publish("big", { messageId: data.id, title: `Big ${data.id}`, payload: { id: data.id } });
            break;
          default:
            await ctx.publish("small", { messageId: data.id, title: `Small ${data.id}`, payload: { id: data.id } });
        }
      },
    }),
  },
});
