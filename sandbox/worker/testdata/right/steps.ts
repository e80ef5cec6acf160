// A long task as a chain of topics: each step hands on what it was given, and what came of its call.
const step = (from: string, to: string, url: string) =>
  Pawl.consumer({
    subscribe: [from],
    publishes: [to],
    async prepare(ctx) {
      const [event] = await ctx.peek(from, { limit: 1 });
      if (!event) return { reservations: [], data: null };
      return { reservations: [{ topic: from, ids: [event.id] }], data: event.payload, ui: { title: `${to} for ${event.payload.customer}` } };
    },
    async mutate(ctx, { data }) {
      return await ctx.http.post({ url, body: data });
    },
    async next(ctx, { data }, outcome) {
      if (outcome.status !== "applied") return;
      const id = outcome.result?.body?.id ?? null;
      await ctx.publish(to, { messageId: data.customer, title: `${to}: ${data.customer}`, payload: { ...data, [to]: id } });
    },
  });

export default Pawl.workflow({
  name: "steps",
  topics: { signedUp: {}, account: {}, mailbox: {}, welcomed: {} },
  consumers: {
    account: step("signedUp", "account", "https://accounts.example.com/accounts"),
    mailbox: step("account", "mailbox", "https://mail.example.com/boxes"),
    welcome: step("mailbox", "welcomed", "https://chat.example.com/hello"),
  },
});
