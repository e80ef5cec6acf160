// Helpers as methods of an object, with this; plain JavaScript.
const text = {
  clean(value) {
    return String(value ?? "").replace(/\s+/g, " ").trim();
  },
  lines(value) {
    return value.split(/\r?\n/).map((line) => this.clean(line)).filter((line) => line !== "");
  },
  fields(value) {
    return Object.fromEntries(this.lines(value).map((line) => line.split(":", 2).map((part) => this.clean(part))));
  },
};

export default Pawl.workflow({
  name: "object-of-helpers",
  topics: { file: {} },
  producers: {
    watch: Pawl.producer({
      interval: "1m",
      handler: async function (ctx) {
        const { files } = await ctx.files.watch({ path: "in" });
        await Promise.all(files.map((file) => ctx.publish("file", { messageId: file.id, title: file.name, payload: file })));
      },
    }),
  },
  consumers: {
    read: Pawl.consumer({
      subscribe: ["file"],
      async prepare(ctx) {
        const [file] = await ctx.peek("file", { limit: 1 });
        if (!file) return { reservations: [], data: null };
        const { content } = await ctx.files.read({ path: file.payload.path });
        const { name = "unknown", total = "0" } = text.fields(content);
        return { reservations: [{ topic: "file", ids: [file.id] }], data: { name, total }, ui: { title: "File of " + name } };
      },
      async mutate(ctx, prepared) {
        const { name, total } = prepared.data;
        await ctx.csv.appendRow({ file: "files.csv", header: ["name", "total"], values: { name, total } });
      },
    }),
  },
});
