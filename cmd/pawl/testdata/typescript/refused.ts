// Each line with a mark at its end is refused by the compiler, with this error and these words in it; no other is.

type Topics = {
  "order.placed": { id: string; total: number };
  "order.shipped": { id: string };
  "day.ended": null;
};

export default Pawl.workflow<Topics>({
  name: "orders",
  topics: { "order.placed": {}, "order.shipped": {}, "day.ended": {} },
  producers: {
    poll: Pawl.producer({
      async handler(ctx, state: { cursor: string } | undefined) {
        await ctx.publish("order.plaecd", { messageId: "1", title: "1", payload: null }); //! TS2345 order.plaecd
        await ctx.publish("order.placed", { messageId: "1", title: "1", payload: { id: "" } }); //! TS2741 total
        await ctx.publish("order.shipped", { messageId: "1", title: "1", payload: { id: 1 } }); //! TS2322 number
        await ctx.publish("order.placed", { messageId: "1", title: "1" }); //! TS2345 payload
        await ctx.publish("order.placed", { messageId: "1", payload: { id: "1", total: 1 } }); //! TS2345 title
        await ctx.publish(["order.placed", "order.shipped"], {
          messageId: "1",
          title: "1",
          payload: { id: "1" }, //! TS2322 total
        });
        await ctx.publish("day.ended", { messageId: "1", title: "1", payload: 1 }); //! TS2322 null
        await ctx.peek("order.placed"); //! TS2349 PawlOnlyIn<"prepare">
        await ctx.getByIds("order.placed", []); //! TS2349 PawlOnlyIn<"prepare">
        await ctx.files.write({ path: "a", content: "" }); //! TS2349 PawlOnlyIn<"mutate">
        await ctx.files.lst({}); //! TS2551 list
        await ctx.files.list({ path: 1 }); //! TS2322 number
        await ctx.files.list({ ptah: "a" }); //! TS2353 ptah
        const { entries } = await ctx.files.list();
        ctx.log(entries[0].nmae); //! TS2339 nmae
        ctx.log(state.cursor); //! TS18048 state
      },
    }),
    publishes: Pawl.producer({
      publishes: ["order.plaecd"], //! TS2820 order.placed
      async handler() {},
    }),
    state: Pawl.producer({
      async handler(ctx, state: { cursor: string } | undefined) { //! TS2322 cursor
        ctx.log(state);
        return { cursor: 1 };
      },
    }),
    schedule: Pawl.producer({ intervall: "1m", async handler() {} }), //! TS2353 intervall
    bare: async (ctx) => {
      await ctx.publish("order.plaecd", { messageId: "1", title: "1" }); //! TS2345 order.plaecd
    },
  },
  consumers: {
    ship: Pawl.consumer({
      subscribe: ["order.placed"],
      async prepare(ctx, state: { last: string } | undefined) {
        const [order] = await ctx.peek("order.placed", { limit: 1 });
        await ctx.peek("order.lost"); //! TS2345 order.lost
        await ctx.getByIds("order.lost", []); //! TS2345 order.lost
        await ctx.publish("day.ended", { messageId: "1", title: "1" }); //! TS2349 PawlOnlyIn<"a producer or next">
        ctx.registerInput({ source: "a", type: "a", id: "a", title: "a" }); //! TS2349 PawlOnlyIn<"a producer">
        await ctx.http.post({ url: "https://example.com" }); //! TS2349 PawlOnlyIn<"mutate">
        await ctx.http.get({}); //! TS2741 url
        ctx.log(order.payload.totl); //! TS2551 total
        ctx.log(state?.lst); //! TS2551 last
        if (!order) return { reservations: [], data: null };
        return { reservations: [{ topic: order.topic, ids: [order.id] }], data: order.payload };
      },
      async mutate(ctx, { data, reservations }) {
        await ctx.publish("day.ended", { messageId: "1", title: "1" }); //! TS2349 PawlOnlyIn<"a producer or next">
        await ctx.peek("order.placed"); //! TS2349 PawlOnlyIn<"prepare">
        await ctx.http.get({ url: "https://example.com" }); //! TS2349 or mutate with mutateReads">
        await ctx.csv.readRows({ file: "a.csv" }); //! TS2349 PawlOnlyIn<"a producer or prepare">
        ctx.log(data.totl, reservations[0].ids); //! TS2551 total
        await ctx.csv.appendRow({ file: "a.csv", values: [{ total: data.total }] }); //! TS2322 total
        return await ctx.csv.appendRow({ file: "a.csv", values: data });
      },
      async next(ctx, { data }, outcome) {
        await ctx.http.get({ url: "https://example.com" }); //! TS2339 http
        await ctx.peek("order.placed"); //! TS2339 peek
        await ctx.publish("order.lost", { messageId: "1", title: "1" }); //! TS2345 order.lost
        ctx.log(outcome.result); //! TS2339 result
        if (outcome.status === "applied") ctx.log(outcome.result.rwo); //! TS2339 rwo
        await ctx.publish("order.shipped", { messageId: "1", title: "1", payload: { id: data.id } }); //! TS18047 data
      },
    }),
    subscribes: Pawl.consumer({
      subscribe: ["order.lost"], //! TS2322 order.lost
      async prepare() {
        return { reservations: [], data: null };
      },
    }),
    state: Pawl.consumer({
      subscribe: ["order.shipped"],
      async prepare(ctx, state: { last: string } | undefined) { //! TS2322 last
        return { reservations: [], data: state };
      },
      async next() {
        return { last: 1 };
      },
    }),
    unknownReservation: Pawl.consumer({
      subscribe: ["order.shipped"],
      async prepare() { //! TS2322 order.lost
        return { reservations: [{ topic: "order.lost", ids: ["1"] }], data: 1 };
      },
    }),
    noReservations: Pawl.consumer({
      subscribe: ["order.shipped"],
      async prepare() { //! TS2322 reservations
        return { data: 1 };
      },
    }),
    reads: Pawl.consumer({
      subscribe: ["order.shipped"],
      mutateReads: "byId",
      async prepare(ctx) {
        const [order] = await ctx.peek("order.shipped");
        return { reservations: [{ topic: "order.shipped", ids: [order.id] }], data: null };
      },
      async mutate(ctx) {
        await ctx.http.get({ url: "https://example.com" });
        await ctx.csv.readRows({ file: "a.csv" }); //! TS2349 PawlOnlyIn<"a producer or prepare">
        await ctx.http.put({ url: "https://example.com" });
      },
    }),
    many: Pawl.consumer({ //! TS2345 state
      subscribe: ["day.ended"],
      concurrency: 4,
      async prepare(ctx: PawlPrepareCtx, state: unknown) {
        return { reservations: [], data: [ctx, state] };
      },
    }),
    notHeld: Pawl.consumer({
      subscribe: ["order.placed"],
      async prepare(ctx) { //! TS2322 Type 'string' is not assignable
        const [order] = await ctx.peek("order.placed");
        const reservations = [{ topic: "order.placed", ids: [order.id] }];
        return { reservations, data: null };
      },
    }),
  },
  hooks: {
    shop: Pawl.hook({ topic: "order.lost", verify: "none", id: "{hash}", title: "t" }), //! TS2322 order.lost
  },
});

// Without saying what topics hold, phases are checked all the same.
export const untyped = Pawl.workflow({
  name: "untyped",
  topics: { a: {} },
  producers: {
    p: Pawl.producer({
      async handler(ctx) {
        await ctx.peek("a"); //! TS2349 PawlOnlyIn<"prepare">
        await ctx.csv.appendRow({ file: "a.csv", values: [] }); //! TS2349 PawlOnlyIn<"mutate">
      },
    }),
  },
  consumers: {
    c: Pawl.consumer({
      subscribe: ["a"],
      async prepare(ctx) {
        await ctx.publish("a", { messageId: "1", title: "1" }); //! TS2349 PawlOnlyIn<"a producer or next">
        return { reservations: [], data: null };
      },
      async mutate(ctx) {
        await ctx.publish("a", { messageId: "1", title: "1" }); //! TS2349 PawlOnlyIn<"a producer or next">
        await ctx.csv.findRow({ file: "a.csv", column: "a", value: 1 }); //! TS2349 or mutate with mutateReads">
      },
      async next(ctx) {
        await ctx.csv.appendRow({ file: "a.csv", values: [] }); //! TS2339 csv
      },
    }),
  },
});

Pawl.workflow<Topics>({ name: "lacks", topics: { "order.placed": {}, "order.shipped": {} } }); //! TS2741 day.ended
Pawl.workflow({ name: "misspelt", topics: {}, prodcuers: {} }); //! TS2561 producers
