// The events of one customer together; the others wait for their turn.
export default Pawl.workflow({
  name: "groups",
  topics: { parcel: {} },
  consumers: {
    ship: Pawl.consumer({
      subscribe: ["parcel"],
      async prepare(ctx) {
        const parcels = await ctx.peek("parcel", { limit: 500 });
        if (parcels.length === 0) return { reservations: [], data: null };
        const customer = parcels[0].payload.customer;
        const mine = parcels.filter((parcel) => parcel.payload.customer === customer);
        const first = mine.slice(0, 10);
        const weight = first.reduce((sum, parcel) => sum + parcel.payload.grams, 0);
        return {
          reservations: [{ topic: "parcel", ids: first.map((parcel) => parcel.id) }],
          data: { customer, weight, parcels: first.map((parcel) => parcel.payload.number), left: parcels.length - first.length },
          ui: { title: `Ship ${first.length} parcels to ${customer}` },
        };
      },
      async mutate(ctx, { data }) {
        const { left, ...body } = data;
        await ctx.http.post({ url: "https://api.example.com/shipments", body: { ...body, more: left > 0 } });
      },
    }),
  },
});
