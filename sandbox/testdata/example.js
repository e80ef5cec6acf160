export default Keep.workflow({
  name: "example",

  topics: {
    "email.received": {},
    "row.created": {},
  },

  producers: {
    pollEmail: async (ctx, state) => {
      const cursor = state?.cursor;
      const emails = await ctx.gmail.search({ after: cursor });
      for (const e of emails) {
        await ctx.publish("email.received", {
          messageId: e.id,
          title: `Email from ${e.from}: "${e.subject}"`,
          payload: { subject: e.subject, from: e.from },
        });
      }
      return { cursor: emails.lastCursor };
    }
  },

  consumers: {
    processEmail: Keep.consumer({
      subscribe: ["email.received"],

      async prepare(ctx, state) {
        const pending = await ctx.peek("email.received");
        if (pending.length === 0) return { reservations: [], data: {} };
        const event = pending[0];
        return {
          reservations: [{ topic: "email.received", ids: [event.messageId] }],
          data: { email: event.payload }
        };
      },

      async mutate(ctx, prepared) {
        await ctx.sheets.appendRow({
          spreadsheetId: "...",
          values: [prepared.data.email.from, prepared.data.email.subject]
        });
      },

      async next(ctx, prepared, mutationResult) {
        if (mutationResult.status === 'applied') {
          await ctx.publish("row.created", {
            messageId: `row:${prepared.data.email.messageId}`,
            title: `Row created for ${prepared.data.email.from}`,
            payload: { rowId: mutationResult.result.rowId }
          });
        }
        // No state needed for this consumer
      },
    })
  }
});
