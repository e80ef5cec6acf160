// Other events are looked at, and only one's own is reserved.
export default Pawl.workflow({
  name: "lookups",
  topics: { customer: {}, visit: {} },
  consumers: {
    greet: Pawl.consumer({
      subscribe: ["visit", "customer"],
      async prepare(ctx) {
        const visits = await ctx.peek("visit");
        for (const visit of visits) {
          const [customer] = await ctx.getByIds("customer", [visit.payload.customer]);
          if (!customer) continue;
          const reservations = [{ topic: "visit", ids: [visit.id] }];
          if (customer.status === "pending") reservations.push({ topic: "customer", ids: [customer.id] });
          return { reservations, data: { name: customer.payload.name }, ui: { title: `Greet ${customer.payload.name}` } };
        }
        return { reservations: [], data: null };
      },
      async mutate(ctx, { data }) {
        await ctx.http.post({ url: "https://api.example.com/greetings", body: { text: `Hello ${data.name}` } });
      },
    }),
  },
});
