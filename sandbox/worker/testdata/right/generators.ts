// Pages as an async generator, a labelled loop, named groups of a pattern, and an index in the state.
async function* pages(ctx, topic) {
  let after;
  for (;;) {
    const events = await ctx.peek(topic, { limit: 500, after });
    if (events.length === 0) return;
    yield events;
    after = events[events.length - 1].messageId;
  }
}

const reference = /(?<kind>[A-Z]{2})-(?<number>\d+)/;

export default Pawl.workflow({
  name: "generators",
  topics: { transfer: {}, matched: {} },
  consumers: {
    match: Pawl.consumer({
      subscribe: ["transfer"],
      async prepare(ctx) {
        let found;
        search: for await (const events of pages(ctx, "transfer")) {
          for (const event of events) {
            if (reference.test(event.payload.text)) {
              found = event;
              break search;
            }
          }
        }
        if (!found) return { reservations: [], data: null };
        const { kind, number } = reference.exec(found.payload.text).groups;
        return { reservations: [{ topic: "transfer", ids: [found.id] }], data: { kind, number: Number(number), amount: found.payload.amount } };
      },
      async next(ctx, { data }) {
        if (data === null) return;
        const id = `${data.kind}-${data.number}`;
        await ctx.publish("matched", { messageId: ctx.hash("sha256", `${id} ${data.amount}`), title: `Matched ${id}`, payload: data });
      },
    }),
  },
});
