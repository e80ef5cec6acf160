// Functions that return the first event and the others, or how many there are.
async function split(ctx, topic) { const [head, ...rest] = await ctx.peek(topic, { limit: 20 }); return { head, rest }; }
async function count(ctx, topic) { return (await ctx.peek(topic, { limit: 1000 })).length; }
const sumOf = (events, of = (e) => e.payload.n) => events.reduce((s, e) => s + of(e), 0);
export default Pawl.workflow({
  name: "head-and-rest", topics: { a: {}, b: {}, c: {} },
  consumers: {
    a: Pawl.consumer({ subscribe: ["a"],
      async prepare(ctx) {
        const { head, rest } = await split(ctx, "a");
        if (!head) return { reservations: [], data: null };
        return { reservations: [{ topic: "a", ids: [head.id] }], data: { n: head.payload.n, later: sumOf(rest), waiting: await count(ctx, "a") }, ui: { title: head.title } };
      },
      mutate: (ctx, { data }) => ctx.csv.appendRow({ file: "x.csv", values: [data.n, data.later, data.waiting] }) }),
    b: Pawl.consumer({ subscribe: ["b", "c"],
      async prepare(ctx) {
        const { head, rest } = await split(ctx, "b");
        const held = await count(ctx, "c");
        if (!head || held > 0) {
          const cs = await ctx.peek("c");
          return { reservations: [{ topic: "c", ids: cs.map((e) => e.id) }], data: null };
        }
        const all = [head, ...rest];
        return { reservations: [{ topic: "b", ids: all.map((e) => e.id) }], data: { n: sumOf(all, (e) => e.payload.m) }, ui: { title: `${all.length} of b` } };
      },
      async mutate(ctx, { data }) { if (data) await ctx.csv.appendRow({ file: "x.csv", values: [data.n] }); } }),
  },
});
