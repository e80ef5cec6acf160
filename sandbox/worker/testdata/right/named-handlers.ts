// Handlers are functions of the module, consumers are constants, and the workflow only lists them.
async function prepareInvoice(ctx) {
  const events = await ctx.peek("delivered", { limit: 1 });
  const delivered = events[0];
  if (delivered === undefined) return { reservations: [], data: null };
  const lines = delivered.payload.lines.map(({ sku, count, price }) => ({ sku, sum: count * price }));
  const total = lines.reduce((sum, line) => sum + line.sum, 0);
  return {
    reservations: [{ topic: "delivered", ids: [delivered.messageId] }],
    data: { order: delivered.payload.order, lines, total },
    ui: { title: "Invoice for " + delivered.payload.order },
  };
}

async function sendInvoice(ctx, prepared) {
  const { order, lines, total } = prepared.data;
  return await ctx.http.post({ url: "https://api.example.com/invoices", body: { order, lines, total } });
}

async function afterInvoice(ctx, prepared, outcome) {
  if (prepared.data === null || outcome.status !== "applied") return;
  const { order, total } = prepared.data;
  const number = outcome.result?.body?.number ?? order;
  await ctx.publish("invoiced", { messageId: String(number), title: `Invoice ${number}`, payload: { order, total } });
}

const invoice = Pawl.consumer({ subscribe: ["delivered"], prepare: prepareInvoice, mutate: sendInvoice, next: afterInvoice });

const archive = Pawl.consumer({
  subscribe: ["invoiced"],
  prepare: async (ctx) => {
    const [invoiced] = await ctx.peek("invoiced", { limit: 1 });
    return invoiced
      ? {
          reservations: [{ topic: "invoiced", ids: [invoiced.messageId] }],
          data: { id: invoiced.messageId, ...invoiced.payload },
          ui: { title: `Archive ${invoiced.title}` },
        }
      : { reservations: [], data: null };
  },
  mutate: (ctx, { data }) => ctx.csv.appendRow({ file: "invoices.csv", values: [data.id, data.order, data.total] }),
});

export default Pawl.workflow({ name: "named-handlers", topics: { delivered: {}, invoiced: {} }, consumers: { invoice, archive } });
