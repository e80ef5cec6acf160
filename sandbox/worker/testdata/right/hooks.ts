// A hook, whose requests are looked at before anything is called; ids that are hashed.
export default Pawl.workflow({
  name: "hooks",
  topics: { posted: {}, paid: {} },
  hooks: {
    shop: Pawl.hook({ topic: "posted", verify: "none", id: "{body:event.id}", title: "Payment {body:event.id}" }),
  },
  consumers: {
    read: Pawl.consumer({
      subscribe: ["posted"],
      async prepare(ctx) {
        const posted = await ctx.peek("posted", { limit: 50 });
        if (!posted.length) return { reservations: [], data: null };
        const payments = [];
        for (const { payload: { body } } of posted) {
          const amount = Number(body?.event?.amount);
          if (Number.isFinite(amount)) payments.push({ id: body.event.id, amount });
        }
        return { reservations: [{ topic: "posted", ids: posted.map((p) => p.id) }], data: { payments } };
      },
      async next(ctx, prepared) {
        if (prepared.data === null) return;
        for (const { id, amount } of prepared.data.payments) {
          await ctx.publish("paid", { messageId: ctx.hash(id), title: `Paid ${amount}`, payload: { id, amount } });
        }
      },
    }),
  },
});
