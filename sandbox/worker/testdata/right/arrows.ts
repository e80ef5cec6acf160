// Handlers as arrow functions, helpers as constants, early returns.
type Nothing = { reservations: []; data: null };
const nothing: Nothing = { reservations: [], data: null };
const euros = (cents: number, currency = "EUR") => `${(cents / 100).toFixed(2)} ${currency}`;
const reserve = (topic: string, ...events: { messageId: string }[]) =>
  [{ topic, ids: events.map((event) => event.messageId) }];

export default Pawl.workflow({
  name: "arrows",
  topics: { invoice: {}, sent: {} },
  consumers: {
    send: Pawl.consumer({
      subscribe: ["invoice"],
      prepare: async (ctx) => {
        const [invoice] = await ctx.peek("invoice", { limit: 1 });
        if (invoice === undefined) return nothing;
        const { number, cents, currency = "EUR" } = invoice.payload;
        if (cents <= 0) {
          const cancel = [{ topic: "invoice", ids: [invoice.id], reason: "nothing to pay" }];
          return { reservations: [], data: null, cancel };
        }
        return {
          reservations: reserve("invoice", invoice),
          data: { number, amount: euros(cents, currency) },
          ui: { title: `Invoice ${number}: ${euros(cents, currency)}` },
        };
      },
      mutate: async (ctx, { data }) => {
        await ctx.http.post({ url: "https://api.example.com/invoices", body: data });
      },
      next: async (ctx, { data }, outcome) => {
        if (outcome.status !== "applied" || !data) return;
        await ctx.publish("sent", { messageId: data.number, title: `Sent ${data.number}`, payload: { amount: data.amount } });
      },
    }),
  },
});
