// One chat message per webhook. Each delivery is an event of its own, and many are told at once: a delivery that fails,
// or waits for a person, holds up only other deliveries of the same customer.
//
// The chat's host and the shop's secret belong in pawl.yaml:
//
//   connectors: {http: {hosts: {chat.example.com: {}}}}
//   secrets: {SHOP: {value: "${env:SHOP_WEBHOOK_SECRET}"}}
//
// Then: pawl up webhook-to-chat.ts; pawl grants webhook-to-chat secret.SHOP=allow; and the shop posts to
// /hooks/webhook-to-chat/shop. To try it:
//
//   pawl hooks test webhook-to-chat shop \
//     '{"type": "order.paid", "customer": {"id": 7, "name": "Ann"}, "order": {"number": "17", "total": "12.50 EUR"}}'

/** What the shop sends. */
type Delivery = {
  type: string;
  customer: { id: number; name: string };
  order: { number: string; total?: string; carrier?: string };
};

export default Pawl.workflow<{ "hook.received": { body: Delivery } }>({
  name: "webhook-to-chat",

  topics: {
    "hook.received": {},
  },

  hooks: {
    shop: Pawl.hook({
      topic: "hook.received",
      verify: { scheme: "standard", secret: "SHOP" }, // as Standard Webhooks says; only the shop can sign a delivery
      id: "{header:webhook-id}", // a delivery that comes twice is told once
      title: "{body:type} of {body:customer.name}",
    }),
  },

  consumers: {
    tell: Pawl.consumer({
      subscribe: ["hook.received"],
      concurrency: 16, // so many deliveries are told at once
      key: "body.customer.id", // those of one customer one after the other, as they came
      maxAttempts: 5, // a delivery that the chat refuses is put aside after that, and its customer's next one is told

      // Each run is given one delivery. A type that the chat has no sentence for is dropped.
      async prepare(ctx) {
        const [event] = await ctx.peek("hook.received");
        const { body } = event.payload;
        const delivered = { topic: event.topic, ids: [event.messageId] };
        const text = sentence(body);
        if (!text) {
          const reason = `the chat has no sentence for ${body.type}`;
          return { reservations: [], data: null, cancel: [{ ...delivered, reason }] };
        }
        return {
          reservations: [delivered],
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
function sentence({ type, customer, order }: Delivery): string | undefined {
  switch (type) {
    case "order.paid":
      return `${customer.name} has paid ${order.total} for order ${order.number}`;
    case "order.shipped":
      return `Order ${order.number} is on its way to ${customer.name} with ${order.carrier ?? "an unknown carrier"}`;
  }
}
