// Consumers as objects of a class: the handlers are methods, and call others by this.
class Copy {
  subscribe: string[];
  constructor(private topic: string, private file: string) {
    this.subscribe = [topic];
  }
  title(payload: { name: string }): string {
    return `Copy ${payload.name} into ${this.file}`;
  }
  async prepare(ctx) {
    const [event] = await ctx.peek(this.topic, { limit: 1 });
    if (!event) return { reservations: [], data: null };
    return { reservations: [{ topic: this.topic, ids: [event.id] }], data: event.payload, ui: { title: this.title(event.payload) } };
  }
  async mutate(ctx, { data }) {
    await ctx.csv.appendRow({ file: this.file, header: ["name"], values: [data.name] });
  }
}

export default Pawl.workflow({
  name: "with-this",
  topics: { person: {}, company: {} },
  consumers: { people: new Copy("person", "people.csv"), companies: new Copy("company", "companies.csv") },
});
