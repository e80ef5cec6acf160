package main

// workflows are the scripts of the world by their names, with HOST for the outside. Each comes into a state of its own.
var workflows = map[string]string{
	// All is well: mails come in, are booked, and lead to invoices.
	"mail-to-books": `
export default Pawl.workflow({
  name: "mail-to-books",
  topics: { "mail": {}, "booked": {} },
  producers: { inbox: { interval: "5m", async handler(ctx) { return { seen: 12 }; } } },
  consumers: {
    book: Pawl.consumer({
      subscribe: ["mail"],
      async prepare(ctx) {
        const [mail] = await ctx.peek("mail", { limit: 1 });
        if (!mail) return { reservations: [], data: null };
        console.log("read the mail", mail.title);
        await ctx.http.get({ url: "http://HOST/customers" });
        return { reservations: [{ topic: "mail", ids: [mail.messageId] }], data: { id: mail.messageId, ...mail.payload },
          ui: { title: "Book " + mail.title } };
      },
      async mutate(ctx, { data }) { await ctx.http.post({ url: "http://HOST/books", body: data }); },
      async next(ctx, { data }, result) {
        if (data) await ctx.publish("booked", { messageId: "b-" + data.id, title: "Booked " + data.id, payload: data });
      },
    }),
    invoice: Pawl.consumer({
      subscribe: ["booked"],
      async prepare(ctx) {
        const [e] = await ctx.peek("booked", { limit: 1 });
        if (!e) return { reservations: [], data: null };
        return { reservations: [{ topic: "booked", ids: [e.messageId] }], data: e.payload,
          ui: { title: "Invoice for " + e.payload.id } };
      },
      async mutate(ctx, { data }) { await ctx.http.post({ url: "http://HOST/invoices", body: data }); },
    }),
  },
});`,
	// Answers are lost: nothing can be asked, and a person decides.
	"payments": `
export default Pawl.workflow({
  name: "payments",
  topics: { "due": {} },
  consumers: { pay: Pawl.consumer({
    subscribe: ["due"],
    async prepare(ctx) {
      const [due] = await ctx.peek("due", { limit: 1 });
      if (!due) return { reservations: [], data: null };
      return { reservations: [{ topic: "due", ids: [due.messageId] }], data: due.payload, ui: { title: "Pay " + due.title } };
    },
    async mutate(ctx, { data }) { await ctx.http.post({ url: "http://HOST/loses/payments", body: data }); },
  }) },
});`,
	// Each call needs an approval.
	"refunds": `
export default Pawl.workflow({
  name: "refunds",
  topics: { "asked": {} },
  consumers: { refund: Pawl.consumer({
    subscribe: ["asked"], concurrency: 8,
    async prepare(ctx) {
      const [e] = await ctx.peek("asked");
      return { reservations: [{ topic: "asked", ids: [e.messageId] }], data: e.payload, ui: { title: "Refund " + e.title } };
    },
    async mutate(ctx, { data }) { await ctx.http.post({ url: "http://HOST/refunds", body: data }); },
  }) },
});`,
	// The other side refuses, and the attempts are used up.
	"orders": `
export default Pawl.workflow({
  name: "orders",
  topics: { "placed": {} },
  consumers: { order: Pawl.consumer({
    subscribe: ["placed"], maxAttempts: 0,
    async prepare(ctx) {
      const [e] = await ctx.peek("placed", { limit: 1 });
      if (!e) return { reservations: [], data: null };
      return { reservations: [{ topic: "placed", ids: [e.messageId] }], data: e.payload, ui: { title: "Order " + e.title } };
    },
    async mutate(ctx, { data }) { await ctx.http.post({ url: "http://HOST/refuses/orders", body: data }); },
  }) },
});`,
	// The script is broken: it expects what does not come.
	"reports": brokenReports,
	// A person has paused it.
	"newsletter": `
export default Pawl.workflow({
  name: "newsletter",
  topics: { "issue": {} },
  hooks: { cms: Pawl.hook({ topic: "issue", verify: "none", id: "{body:id}", title: "Issue {body:id}" }) },
  consumers: { send: Pawl.consumer({
    subscribe: ["issue"],
    async prepare(ctx) { return { reservations: [], data: null }; },
  }) },
});`,
	// Nothing has happened yet.
	"empty": `
export default Pawl.workflow({
  name: "empty",
  topics: { "in": {} },
  consumers: { look: Pawl.consumer({ subscribe: ["in"], async prepare(ctx) { return { reservations: [], data: null }; } }) },
});`,
}

// brokenReports fails for each event; repairedReports does not.
const brokenReports = `
export default Pawl.workflow({
  name: "reports",
  topics: { "raw": {} },
  consumers: { report: Pawl.consumer({
    subscribe: ["raw"],
    async prepare(ctx) {
      const [e] = await ctx.peek("raw", { limit: 1 });
      if (!e) return { reservations: [], data: null };
      return { reservations: [{ topic: "raw", ids: [e.messageId] }], data: e.payload.rows.length };
    },
    async mutate(ctx, { data }) { await ctx.http.post({ url: "http://HOST/reports", body: { rows: data } }); },
  }) },
});`

const repairedReports = `
export default Pawl.workflow({
  name: "reports",
  topics: { "raw": {} },
  consumers: { report: Pawl.consumer({
    subscribe: ["raw"],
    async prepare(ctx) {
      const [e] = await ctx.peek("raw", { limit: 1 });
      if (!e) return { reservations: [], data: null };
      return { reservations: [{ topic: "raw", ids: [e.messageId] }], data: (e.payload.rows || []).length };
    },
    async mutate(ctx, { data }) { await ctx.http.post({ url: "http://HOST/reports", body: { rows: data } }); },
  }) },
});`
