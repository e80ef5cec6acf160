// A plan of its own for what is refused: the answer is looked at in next, counted in a topic, and given up by name.
const most = 5;
const refused = [400, 404, 409, 410, 422];

export default Pawl.workflow({
  name: "retry-plan",
  topics: { parcel: {}, again: {}, problem: {} },
  consumers: {
    label: Pawl.consumer({
      subscribe: ["parcel", "again"],
      async prepare(ctx) {
        const [fresh] = await ctx.peek("parcel", { limit: 1 });
        const waiting = await ctx.peek("again", { limit: 1000 });
        const due = waiting.find((event) => event.payload.due <= ctx.now());
        const event = due || fresh;
        if (!event) {
          const next = Math.min(...waiting.map((each) => each.payload.due));
          return { reservations: [], data: null, wakeAt: Number.isFinite(next) ? new Date(next).toISOString() : undefined };
        }
        const { parcel, tries = 0 } = event.payload;
        return {
          reservations: [{ topic: event.topic, ids: [event.id] }],
          data: { parcel, tries, now: ctx.now() },
          ui: { title: `Label ${parcel}, try ${tries + 1} of ${most}` },
        };
      },
      async mutate(ctx, { data }) {
        return await ctx.http.post({ url: "https://api.example.com/labels", body: { parcel: data.parcel }, expect: refused });
      },
      async next(ctx, { data }, outcome) {
        if (!data || outcome.status !== "applied") return;
        const status = outcome.result?.status ?? 200;
        if (status < 300) return;
        const { parcel, tries, now } = data;
        const payload = { parcel, tries: tries + 1, due: now + 60_000 * 2 ** tries, status };
        if (payload.tries >= most) await ctx.publish("problem", { messageId: parcel, title: `No label for ${parcel}`, payload });
        else await ctx.publish("again", { messageId: `${parcel}/${payload.tries}`, title: `Label ${parcel} again`, payload });
      },
    }),
  },
});
