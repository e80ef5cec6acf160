// Values that are assigned later, and a try around what a stranger wrote.
export default Pawl.workflow({
  name: "let-and-try",
  topics: { note: {} },
  consumers: {
    keep: Pawl.consumer({
      subscribe: ["note"],
      async prepare(ctx) {
        let events, note;
        events = await ctx.peek("note", { limit: 1 });
        if (events.length > 0) note = events[0];
        if (!note) return { reservations: [], data: null };
        let parsed;
        try {
          parsed = JSON.parse(note.payload.text);
        } catch (error) {
          parsed = { text: note.payload.text, problem: error instanceof Error ? error.message : String(error) };
        }
        let answer;
        answer = await ctx.http.get({ url: "https://api.example.com/kinds" });
        const kinds = answer.body.kinds ?? [];
        const kind = kinds.includes(parsed.kind) ? parsed.kind : "other";
        return { reservations: [{ topic: "note", ids: [note.id] }], data: { ...parsed, kind }, ui: { title: `Note ${note.id}` } };
      },
      async mutate(ctx, { data }) {
        const { kind, ...rest } = data;
        await ctx.files.write({ path: `${kind}/note.json`, content: JSON.stringify(rest, null, 2) });
      },
    }),
  },
});
