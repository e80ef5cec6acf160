// What compiles, and must: each `const` line with a type says what the compiler has to know there.

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
      interval: "1m",
      publishes: ["order.placed", "day.ended"],
      async handler(ctx, state: { cursor: string } | undefined) {
        const after: string = state?.cursor ?? "";
        const { body } = await ctx.http.get({ url: "https://example.com/orders", query: { after } });
        const inputId: string = ctx.registerInput({ source: "shop", type: "order", id: "1", title: "1" });
        for (const { id, total } of body.orders) {
          await ctx.publish("order.placed", { messageId: id, title: id, payload: { id, total }, inputId });
        }
        await ctx.publish("day.ended", { messageId: "1", title: "1" });
        const payload = { id: "1", total: 1 };
        await ctx.publish(["order.placed", "order.shipped"], { messageId: "1", title: "1", payload });
        return { cursor: "1" };
      },
    }),
    wrapped: Pawl.producer(async (ctx) => {
      await helper(ctx);
      await ctx.publish("day.ended", { messageId: "1", title: "1", payload: null });
    }),
    bare: async (ctx) => {
      const { entries } = await ctx.files.list();
      const names: string[] = entries.map((entry) => entry.name);
      ctx.log(names, ctx.now());
    },
  },
  consumers: {
    ship: Pawl.consumer({
      subscribe: ["order.placed"],
      maxAttempts: 3,
      async prepare(ctx, state: { last: string } | undefined) {
        const [order] = await ctx.peek("order.placed", { limit: 1 });
        if (!order || order.id === state?.last) return { reservations: [], data: null };
        const total: number = order.payload.total;
        const [known] = await ctx.getByIds("order.shipped", [order.id]);
        const shipped: string | undefined = known?.payload.id;
        return {
          reservations: [{ topic: "order.placed", ids: [order.id] }],
          data: { ...order.payload, total, shipped },
          ui: { title: `Ship ${order.id}` },
        };
      },
      async mutate(ctx, { data, reservations }) {
        const total: number = data.total;
        const ids: string[] = reservations[0].ids;
        return await ctx.csv.appendRow({ file: "a.csv", values: { id: data.id, total, count: ids.length } });
      },
      async next(ctx, { data, reservations }, outcome) {
        if (!data) return;
        const [{ topic }] = reservations;
        const placed: "order.placed" = topic;
        if (outcome.status === "applied") {
          const row: number = outcome.result.row;
          const title = `${placed} ${row}`;
          await ctx.publish("order.shipped", { messageId: data.id, title, payload: { id: data.id } });
        }
        return { last: data.id };
      },
    }),
    bare: {
      subscribe: ["order.shipped"],
      async prepare(ctx) {
        const shipped = await ctx.peek("order.shipped");
        const ids: string[] = shipped.map((event) => event.payload.id);
        return { reservations: [{ topic: "order.shipped", ids }], data: ids };
      },
    },
    arrows: Pawl.consumer({
      subscribe: ["order.shipped"],
      publishes: [],
      prepare: async (ctx) => {
        await helper(ctx);
        const reservations: PawlEvents<Topics>[] = [{ topic: "order.shipped", ids: ["1"] }];
        return { reservations, data: JSON.parse("1") as number, wakeAt: new Date(ctx.now()).toISOString() };
      },
      mutate: async (ctx, { data }) => {
        const number: number = data;
        if (number > 1) return ctx.files.write({ path: "a", content: `${number}` });
      },
      next: (ctx, { data: number }, outcome) => {
        if (outcome.status === "applied") ctx.log(number.toFixed(2), outcome.result.sha256.length);
      },
    }),
    unknownReservations: Pawl.consumer({
      subscribe: ["order.placed"],
      async prepare() {
        return { reservations: JSON.parse("[]"), data: { id: "1" }, cancel: [{ topic: "order.placed", ids: [] }] };
      },
      async mutate(ctx, { data }) {
        const id: string = data.id;
        await ctx.anotherTool.act({ id });
      },
      async next(_, { data }) {
        const id: string = data.id;
        return id;
      },
    }),
    many: Pawl.consumer({
      subscribe: ["day.ended"],
      concurrency: 4,
      rate: "10/s",
      mutateReads: "byId",
      async prepare(ctx) {
        const [end] = await ctx.peek("day.ended");
        return { reservations: [{ topic: end.topic, ids: [end.id] }], data: { day: end.id } };
      },
      async mutate(ctx, { data }) {
        const mail = await ctx.maildir.get({ id: data.day });
        return await ctx.smtp.send({ to: mail.fromAddress, subject: mail.subject, text: mail.text });
      },
      async next(ctx, { data }, outcome) {
        const day: string = data.day + ctx.vars.region;
        if (outcome.status === "applied") ctx.log(day, outcome.result.messageId.length);
      },
    }),
  },
  hooks: {
    shop: Pawl.hook({ topic: "order.placed", verify: "none", id: "{hash}", title: "t" }),
  },
});

/** What serves several handlers takes the ctx of any workflow. */
async function helper(ctx: PawlPrepareCtx | PawlProducerCtx): Promise<number> {
  return (await ctx.csv.readRows({ file: "a.csv" })).rows.length;
}

// A workflow that does not say what its topics hold: payloads, data and state are anything.
export const untyped = Keep.workflow({
  name: "untyped",
  topics: { a: {}, b: {} },
  producers: {
    p: Keep.producer({
      poll(ctx, state) {
        const topic: string = state?.topic ?? "a";
        void ctx.publish(topic, { messageId: "1", title: "1", payload: { anything: 1 } });
        return { topic };
      },
    }),
  },
  consumers: {
    c: Keep.consumer({
      subscribe: ["a"],
      async prepare(ctx, state) {
        const [a] = await ctx.peek("a", { limit: 1 });
        if (!a) return { reservations: [], data: null };
        const reservations = [{ topic: "a", ids: [a.id] }];
        return { reservations, data: { last: state?.last, ...a.payload } };
      },
      async mutate(ctx, { data }) {
        await ctx.counter.add({ by: data.by });
      },
      async next(ctx, { data, reservations }, outcome) {
        if (outcome.status === "applied") ctx.log(data.by, reservations[0].ids[0], outcome.result.total);
        return { last: 1 };
      },
    }),
    // The types of data, state and result may also be given.
    typed: Keep.consumer<{ by: number }, { count: number }, { total: number }>({
      subscribe: ["b"],
      async prepare(ctx, state) {
        const [b] = await ctx.peek<{ by: number }>("b");
        const by: number = b.payload.by + (state?.count ?? 0);
        return { reservations: [{ topic: "b", ids: [b.id] }], data: { by } };
      },
      async mutate(ctx, { data }) {
        await ctx.counter.add({ by: data.by });
      },
      async next(ctx, { data }, outcome) {
        const total: number = outcome.status === "applied" ? outcome.result.total : data.by;
        return { count: total };
      },
    }),
  },
});
