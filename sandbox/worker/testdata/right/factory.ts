// Consumers that a function makes, one for each target.
const targets = { crm: "https://crm.example.com/people", shop: "https://shop.example.com/people" };

function copyTo(topic: string, url: string) {
  return Pawl.consumer({
    subscribe: [topic],
    concurrency: 4,
    key: "person",
    maxAttempts: 3,
    async prepare(ctx) {
      const [event] = await ctx.peek(topic);
      return {
        reservations: [{ topic, ids: [event.id] }],
        data: { person: event.payload.person, name: event.payload.name },
        ui: { title: `Copy ${event.payload.name}` },
      };
    },
    async mutate(ctx, { data }) {
      await ctx.http.post({ url, body: data });
    },
  });
}

export default Pawl.workflow({
  name: "factory",
  topics: { person: {}, toCrm: {}, toShop: {} },
  consumers: {
    split: Pawl.consumer({
      subscribe: ["person"],
      async prepare(ctx) {
        const people = await ctx.peek("person", { limit: 100 });
        return { reservations: [{ topic: "person", ids: people.map(({ id }) => id) }], data: people.map(({ payload }) => payload) };
      },
      async next(ctx, { data }) {
        for (const person of data ?? []) {
          const event = { messageId: person.id, title: `Person ${person.id}`, payload: { person: person.id, name: person.name } };
          await ctx.publish(["toCrm", "toShop"], event);
        }
      },
    }),
    crm: copyTo("toCrm", targets.crm),
    shop: copyTo("toShop", targets.shop),
  },
});
