// A digest at a time: it looks at all, reserves a page, and says how many are left.
export default Pawl.workflow({
  name: "summary",
  topics: { line: {} },
  consumers: {
    digest: Pawl.consumer({
      subscribe: ["line"],
      async prepare(ctx) {
        const waiting = await ctx.peek("line", { limit: 1000 });
        if (waiting.length < 5) return { reservations: [], data: null };
        const page = waiting.slice(0, 50);
        const rows = page.map((line, i) => ({ n: i + 1, text: line.title }));
        const oldest = waiting.reduce((min, line) => (line.payload.at < min ? line.payload.at : min), waiting[0].payload.at);
        ctx.log(`the oldest is of ${oldest}, ${waiting.length} wait`);
        return {
          reservations: [{ topic: "line", ids: page.map((line) => line.id) }],
          data: { rows, left: waiting.length - page.length },
          ui: { title: `Digest of ${page.length}` },
        };
      },
      async mutate(ctx, { data }) {
        await ctx.http.post({ url: "https://api.example.com/digests", body: data });
      },
    }),
  },
});
