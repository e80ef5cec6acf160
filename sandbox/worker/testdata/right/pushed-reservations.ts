// A list of reservations that grows, and a cancel beside it; all that is used is in one of them.
export default Pawl.workflow({
  name: "pushed-reservations",
  topics: { basket: {}, coupon: {}, note: {} },
  consumers: {
    order: Pawl.consumer({
      subscribe: ["basket", "coupon", "note"],
      async prepare(ctx) {
        const [basket] = await ctx.peek("basket", { limit: 1 });
        if (!basket) return { reservations: [], data: null };
        const { customer, items } = basket.payload;
        const coupons = (await ctx.peek("coupon")).filter((coupon) => coupon.payload.customer === customer);
        const notes = (await ctx.peek("note")).filter((note) => note.payload.customer === customer);
        const reservations = [{ topic: "basket", ids: [basket.id] }];
        const cancel = [];
        const [coupon, ...others] = coupons;
        if (coupon) reservations.push({ topic: "coupon", ids: [coupon.id] });
        if (others.length) cancel.push({ topic: "coupon", ids: others.map((each) => each.id), reason: "one coupon for each basket" });
        if (notes.length) reservations.push({ topic: "note", ids: notes.map((note) => note.id) });
        const discount = coupon?.payload.percent ?? 0;
        return {
          reservations,
          cancel,
          data: { customer, items, discount, notes: notes.map((note) => note.payload.text) },
          ui: { title: `Order of ${customer}, ${discount} % off` },
        };
      },
      async mutate(ctx, { data }) {
        await ctx.http.post({ url: "https://api.example.com/orders", body: data });
      },
    }),
  },
});
