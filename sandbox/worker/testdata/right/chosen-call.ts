// One of several calls, chosen by the data: an if, a switch and a table of functions.
const actions = {
  create: (ctx, item) => ctx.http.post({ url: "https://api.example.com/items", body: item }),
  remove: (ctx, item) => ctx.http.delete({ url: `https://api.example.com/items/${item.id}` }),
};

export default Pawl.workflow({
  name: "chosen-call",
  topics: { change: {}, other: {} },
  consumers: {
    apply: Pawl.consumer({
      subscribe: ["change"],
      async prepare(ctx) {
        const [change] = await ctx.peek("change", { limit: 1 });
        if (!change) return { reservations: [], data: null };
        const { kind, item } = change.payload;
        return { reservations: [{ topic: "change", ids: [change.id] }], data: { kind, item }, ui: { title: `${kind} ${item.id}` } };
      },
      async mutate(ctx, { data }) {
        if (data.kind === "create") return actions.create(ctx, data.item);
        await actions.remove(ctx, data.item);
      },
      async next(ctx, prepared, outcome) {
        if (outcome.status === "applied") ctx.log(`done: ${prepared.data.kind}`);
        else if (outcome.status === "skipped") ctx.log("a person has skipped it");
      },
    }),
    others: Pawl.consumer({
      subscribe: ["other"],
      async prepare(ctx) {
        const [event] = await ctx.peek("other", { limit: 1 });
        if (!event) return { reservations: [], data: null };
        return { reservations: [{ topic: "other", ids: [event.id] }], data: event.payload, ui: { title: `Other ${event.id}` } };
      },
      async mutate(ctx, { data }) {
        switch (data.to) {
          case "sheet":
            return await ctx.csv.appendRow({ file: "other.csv", header: ["id"], values: [data.id] });
          case "file":
            return await ctx.files.write({ path: `${data.id}.json`, content: JSON.stringify(data) });
          default:
            ctx.log(`nothing to do for ${data.to}`);
        }
      },
    }),
  },
});
