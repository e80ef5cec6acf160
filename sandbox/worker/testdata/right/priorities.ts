// The most urgent of three topics, by a loop that keeps the best.
const topics = ["alarm", "warning", "note"] as const;
const urgency = { alarm: 3, warning: 2, note: 1 };

export default Pawl.workflow({
  name: "priorities",
  topics: { alarm: {}, warning: {}, note: {} },
  consumers: {
    tell: Pawl.consumer({
      subscribe: ["alarm", "warning", "note"],
      async prepare(ctx) {
        let best = null;
        for (const topic of topics) {
          const [event] = await ctx.peek(topic, { limit: 1 });
          if (!event) continue;
          if (best === null || urgency[event.topic] > urgency[best.topic]) best = event;
        }
        if (best === null) return { reservations: [], data: null };
        return {
          reservations: [{ topic: best.topic, ids: [best.messageId] }],
          data: { text: best.payload.text, topic: best.topic },
          ui: { title: `${best.topic}: ${best.payload.text}` },
        };
      },
      async mutate(ctx, { data }) {
        await ctx.http.post({ url: "https://chat.example.com/team", body: { text: `[${data.topic}] ${data.text}` } });
      },
    }),
  },
});
