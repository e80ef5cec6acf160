// One chat message per webhook. Each delivery is an event of its own, and many are told at once: a delivery that fails,
// or waits for a person, holds up only other deliveries of the same customer.
//
// The chat's host belongs into pawl.yaml: connectors: {http: {hosts: {chat.example.com: {}}}}
// Then: pawl up webhook-to-chat.ts, and push each delivery with its id, so that one that comes twice is told once:
//
//   pawl push webhook-to-chat hook.received --id d-1 --title 'Order 17 is paid' \
//     '{"type": "order.paid", "customer": {"id": 7, "name": "Ann"}, "order": {"number": "17", "total": "12.50 EUR"}}'

/** What the shop sends. */
type Hook = {
  type: string;
  customer: { id: number; name: string };
  order: { number: string; total?: string; carrier?: string };
};

export default Pawl.workflow<{ "hook.received": Hook }>({
  name: "webhook-to-chat",

  topics: {
    "hook.received": {},
  },

  consumers: {
    tell: Pawl.consumer({
      subscribe: ["hook.received"],
      concurrency: 16, // so many deliveries are told at once
      key: "customer.id", // those of one customer one after the other, as they came
      maxAttempts: 5, // a delivery that the chat refuses is put aside after that, and its customer's next one is told

      // Each run is given one delivery. A type that the chat has no sentence for is dropped.
      async prepare(ctx) {
        const [event] = await ctx.peek("hook.received");
        const delivery = { topic: event.topic, ids: [event.messageId] };
        const text = sentence(event.payload);
        if (!text) {
          const reason = `the chat has no sentence for ${event.payload.type}`;
          return { reservations: [], data: null, cancel: [{ ...delivery, reason }] };
        }
        return {
          reservations: [delivery],
          data: { channel: "#orders", text },
          ui: { title: text },
        };
      },

      // The one call that changes something: it is sent once, also when the engine is killed meanwhile.
      async mutate(ctx, { data }) {
        await ctx.http.post({ url: "https://chat.example.com/api/messages", body: data });
      },
    }),
  },
});

/** What is told of a delivery; nothing for most types. */
function sentence({ type, customer, order }: Hook): string | undefined {
  switch (type) {
    case "order.paid":
      return `${customer.name} has paid ${order.total} for order ${order.number}`;
    case "order.shipped":
      return `Order ${order.number} is on its way to ${customer.name} with ${order.carrier ?? "an unknown carrier"}`;
  }
}
