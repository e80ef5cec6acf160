// One of two topics: what was put aside comes after what is new, and an empty one is not sent.
type Topics = { parcels: { parcel: string }; "parcels.again": { parcel: string; tries: number } };

export default Pawl.workflow<Topics>({
  name: "either",
  topics: { parcels: {}, "parcels.again": {} },
  consumers: {
    label: Pawl.consumer({
      subscribe: ["parcels", "parcels.again"],
      async prepare(ctx) {
        const [first] = await ctx.peek("parcels", { limit: 1 });
        const [again] = await ctx.peek("parcels.again", { limit: 1 });
        const event = first ?? again;
        if (!event) return { reservations: [], data: null };
        return {
          reservations: [{ topic: event.topic, ids: [event.messageId] }],
          data: { parcel: event.payload.parcel, skip: event.payload.parcel === "" },
          ui: event.payload.parcel === "" ? undefined : { title: `Label ${event.payload.parcel}` },
        };
      },
      async mutate(ctx, { data }) {
        if (!data || data.skip) return;
        await ctx.http.post({ url: "https://api.example.com/labels", body: { parcel: data.parcel } });
      },
    }),
  },
});
