// Several results, of which only one leads to a call; the others have nothing that a person would see.
const ask = "https://api.example.com/contracts";

export default Pawl.workflow({
  name: "no-call",
  topics: { contract: {}, filed: {} },
  consumers: {
    sign: Pawl.consumer({
      subscribe: ["contract"],
      async prepare(ctx) {
        const [contract] = await ctx.peek("contract", { limit: 1 });
        if (!contract) return { reservations: [], data: null };
        const reservations = [{ topic: "contract", ids: [contract.id] }];
        const { number, signed } = contract.payload;
        if (signed) return { reservations, data: { number, sign: false } };
        const { status, body } = await ctx.http.get({ url: `${ask}/${number}`, expect: [404] });
        if (status === 404) return { reservations, data: { number, sign: false } };
        return { reservations, data: { number, sign: true, by: body.owner }, ui: { title: `Sign ${number} for ${body.owner}` } };
      },
      async mutate(ctx, { data }) {
        if (data.sign) await ctx.http.post({ url: `${ask}/${data.number}/signature`, body: { by: data.by } });
      },
      async next(ctx, { data }, outcome) {
        if (!data) return;
        const payload = { number: data.number, signed: outcome.status === "applied" };
        await ctx.publish("filed", { messageId: data.number, title: `Contract ${data.number}`, payload });
      },
    }),
  },
});
