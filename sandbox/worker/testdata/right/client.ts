// A small client around ctx, made by a function, and a producer that walks its pages to a known place.
const base = "https://api.example.com/v2";

function client(ctx) {
  const get = async (path, query = {}) => {
    const search = new URLSearchParams(query).toString();
    const { body } = await ctx.http.get({ url: `${base}${path}${search ? "?" + search : ""}` });
    return body;
  };
  return {
    tickets: (since) => get("/tickets", since ? { since } : {}),
    ticket: (id) => get(`/tickets/${id}`),
  };
}

export default Pawl.workflow({
  name: "client",
  topics: { ticket: {} },
  producers: {
    poll: Pawl.producer({
      interval: "2m",
      async handler(ctx, state = {}) {
        const { since = null } = state;
        const { tickets } = await client(ctx).tickets(since);
        let newest = since;
        for (const { id, title, updatedAt } of tickets) {
          await ctx.publish("ticket", { messageId: `${id}@${updatedAt}`, title: `Ticket ${id}: ${title}`, payload: { id, updatedAt } });
          if (newest === null || updatedAt > newest) newest = updatedAt;
        }
        return { since: newest };
      },
    }),
  },
  consumers: {
    mirror: Pawl.consumer({
      subscribe: ["ticket"],
      async prepare(ctx) {
        const [event] = await ctx.peek("ticket", { limit: 1 });
        if (!event) return { reservations: [], data: null };
        const ticket = await client(ctx).ticket(event.payload.id);
        return {
          reservations: [{ topic: "ticket", ids: [event.id] }],
          data: { id: ticket.id, text: String(ticket.text ?? "").slice(0, 1000) },
          ui: { title: `Mirror ticket ${ticket.id}` },
        };
      },
      async mutate(ctx, { data }) {
        await ctx.files.write({ path: `tickets/${data.id}.txt`, content: data.text });
      },
    }),
  },
});
