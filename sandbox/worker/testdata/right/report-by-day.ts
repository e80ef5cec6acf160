// A report at a time of day: the day is that of the schedule, numbers and dates are formatted, and next keeps the sums.
const day = (iso: string) => iso.slice(0, 10);
const money = new Intl.NumberFormat("en-GB", { minimumFractionDigits: 2 });

export default Pawl.workflow({
  name: "report-by-day",
  topics: { close: {}, sold: {} },
  producers: {
    evening: Pawl.producer({
      cron: "0 18 * * 1-5",
      timezone: "Europe/Berlin",
      async handler(ctx) {
        const date = day(ctx.scheduledAt);
        await ctx.publish("close", { messageId: date, title: `Close ${date}`, payload: { date } });
      },
    }),
  },
  consumers: {
    sums: Pawl.consumer({
      subscribe: ["sold", "close"],
      async prepare(ctx, state) {
        const { sum = 0, count = 0 } = state ?? {};
        const sold = await ctx.peek("sold", { limit: 1000 });
        if (sold.length > 0) {
          const added = sold.reduce((total, { payload }) => total + payload.amount, 0);
          const reservations = [{ topic: "sold", ids: sold.map((event) => event.id) }];
          return { reservations, data: { kind: "add", sum: sum + added, count: count + sold.length } };
        }
        const [close] = await ctx.peek("close", { limit: 1 });
        if (!close) return { reservations: [], data: null };
        const text = `${close.payload.date}: ${count} sales, ${money.format(sum)}`;
        return { reservations: [{ topic: "close", ids: [close.id] }], data: { kind: "close", text, sum, count }, ui: { title: text } };
      },
      async mutate(ctx, { data }) {
        if (data.kind !== "close") return;
        await ctx.http.post({ url: "https://chat.example.com/sales", body: { text: data.text } });
      },
      async next(ctx, { data }, { status }) {
        if (!data) return;
        switch (data.kind) {
          case "add":
            return { sum: data.sum, count: data.count };
          case "close":
            return status === "applied" ? { sum: 0, count: 0 } : undefined;
        }
      },
    }),
  },
});
