// Helpers in a class with private members and static methods.
interface Order { id: string; total: number; lines: { sku: string; count: number }[] }

class Orders {
  #seen = new Map<string, number>();
  constructor(private readonly ctx: any) {}
  static title(order: Order): string {
    return `Order ${order.id}: ${order.total}`;
  }
  async load(after: string | null): Promise<Order[]> {
    const { body } = await this.ctx.http.get({ url: `https://api.example.com/orders?after=${after ?? ""}` });
    return body.orders as Order[];
  }
  note(order: Order): void {
    this.#seen.set(order.id, (this.#seen.get(order.id) ?? 0) + 1);
  }
  get count(): number {
    return this.#seen.size;
  }
}

export default Pawl.workflow({
  name: "class-of-helpers",
  topics: { order: {} },
  producers: {
    poll: Pawl.producer({
      interval: "5m",
      async handler(ctx, state) {
        const orders = new Orders(ctx);
        let after: string | null = state?.after ?? null;
        for (const order of await orders.load(after)) {
          orders.note(order);
          await ctx.publish("order", { messageId: order.id, title: Orders.title(order), payload: order });
          after = order.id;
        }
        ctx.log(`${orders.count} orders`);
        return { after };
      },
    }),
  },
  consumers: {
    book: Pawl.consumer({
      subscribe: ["order"],
      async prepare(ctx) {
        const [event] = await ctx.peek("order", { limit: 1 });
        if (!event) return { reservations: [], data: null };
        const order = event.payload as Order;
        return {
          reservations: [{ topic: "order", ids: [event.messageId] }],
          data: { id: order.id, lines: order.lines.map(({ sku, count }) => `${count}x${sku}`).join(",") },
          ui: { title: Orders.title(order) },
        };
      },
      async mutate(ctx, { data }) {
        await ctx.csv.appendRow({ file: "orders.csv", header: ["id", "lines"], values: data });
      },
    }),
  },
});
