// A function that looks events up logs the first of them; one makes the reservations of two lists.
async function page(ctx, topic) {
  const events = await ctx.peek(topic);
  if (events.length > 0) ctx.log(`${topic} begins with ${events[0].title}`);
  return events;
}
const reserve = (lists) => Object.entries(lists).map(([topic, events]) => ({ topic, ids: events.map((e) => e.id) }));
export default Pawl.workflow({
  name: "logging-helper", topics: { a: {}, b: {}, c: {} },
  consumers: {
    ab: Pawl.consumer({ subscribe: ["a", "b"],
      async prepare(ctx) {
        const [a, b] = [await page(ctx, "a"), await page(ctx, "b")];
        if (a.length + b.length === 0) return { reservations: [], data: null };
        return { reservations: reserve({ a, b }), data: { n: a.length + b.length }, ui: { title: `${a.length} and ${b.length}` } };
      },
      mutate: (ctx, { data }) => ctx.csv.appendRow({ file: "x.csv", values: [data.n] }) }),
    drop: Pawl.consumer({ subscribe: ["c"],
      async prepare(ctx) {
        const events = await page(ctx, "c");
        return { reservations: [{ topic: "c", ids: events.map((e) => e.id) }], data: null };
      } }),
  },
});
