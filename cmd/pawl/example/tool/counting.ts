// Adds one to the counter of the tool beside this file every minute, and 10 on Mondays at nine.
export default Pawl.workflow<{ due: { by: number } }>({
  name: "counting",

  topics: {
    due: {}, // one for each addition that is owed
  },

  producers: {
    minutely: Pawl.producer({
      interval: "1m", // at once, then every minute
      publishes: ["due"],
      async poll(ctx) {
        const at = new Date(ctx.now()).toISOString();
        await ctx.publish("due", { messageId: `minute ${at}`, title: `One more, of ${at}`, payload: { by: 1 } });
      },
    }),
    mondays: Pawl.producer({
      cron: "0 9 * * 1", // at its time only; runOnDeploy: true would have it run at once too
      timezone: "Europe/Berlin",
      publishes: ["due"],
      async poll(ctx) {
        const at = new Date(ctx.now()).toISOString();
        await ctx.publish("due", { messageId: `week ${at}`, title: `Ten more, of ${at}`, payload: { by: 10 } });
      },
    }),
  },

  consumers: {
    add: Pawl.consumer({
      subscribe: ["due"],

      async prepare(ctx) {
        const [event] = await ctx.peek("due", { limit: 1 });
        if (!event) return { reservations: [], data: null };
        return {
          reservations: [{ topic: "due", ids: [event.messageId] }],
          data: event.payload,
          ui: { title: event.title },
        };
      },

      async mutate(ctx, { data }) {
        await ctx.counter.add({ by: data.by });
      },
    }),
  },
});
