// prepare is put together: one function chooses, another one describes, and the result is spread.
type Choice = { topic: string; ids: string[]; customer: string; amount: number } | null;

async function choose(ctx): Promise<Choice> {
  const due = await ctx.peek("due", { limit: 100 });
  const paid = new Set((await ctx.getByIds("paid", due.map((event) => event.id))).map((event) => event.id));
  const open = due.find((event) => !paid.has(event.id));
  return open ? { topic: "due", ids: [open.id], customer: open.payload.customer, amount: open.payload.amount } : null;
}

const describe = (choice: NonNullable<Choice>) => ({ ui: { title: `Remind ${choice.customer} of ${choice.amount}` } });

export default Pawl.workflow({
  name: "choose-first",
  topics: { due: {}, paid: {} },
  consumers: {
    remind: Pawl.consumer({
      subscribe: ["due", "paid"],
      approval: ({ data }) => (data?.amount ?? 0) >= 500,
      async prepare(ctx) {
        const choice = await choose(ctx);
        if (choice === null) {
          const old = await ctx.peek("paid", { limit: 100 });
          return { reservations: [{ topic: "paid", ids: old.map((event) => event.id) }], data: null };
        }
        const { topic, ids, customer, amount } = choice;
        return { reservations: [{ topic, ids }], data: { customer, amount }, ...describe(choice) };
      },
      async mutate(ctx, { data }) {
        if (data === null) return;
        await ctx.http.post({ url: "https://api.example.com/reminders", body: data });
      },
    }),
  },
});
