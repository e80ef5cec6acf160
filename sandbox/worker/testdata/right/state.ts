// A state with defaults, a window of known ids, and a migration from what an older version kept.
type Kept = { cursor: string; known: string[]; polls: number };

const fresh = (): Kept => ({ cursor: "", known: [], polls: 0 });

function upgrade(state: Partial<Kept> & { curser?: string } | null): Kept {
  return { ...fresh(), ...state, cursor: state?.cursor ?? state?.curser ?? "" };
}

export default Pawl.workflow({
  name: "state",
  topics: { ticket: {} },
  producers: {
    poll: Pawl.producer({
      interval: "1m",
      async handler(ctx, state) {
        const kept = upgrade(state);
        const { body } = await ctx.http.get({ url: "https://api.example.com/tickets?after=" + kept.cursor });
        const known = new Set(kept.known);
        for (const ticket of body.tickets) {
          if (known.has(ticket.id)) continue;
          known.add(ticket.id);
          await ctx.publish("ticket", { messageId: ticket.id, title: `Ticket ${ticket.id}`, payload: ticket });
          kept.cursor = ticket.updated;
        }
        return { ...kept, known: [...known].slice(-100), polls: kept.polls + 1 };
      },
    }),
  },
});
