// It waits: a time of day, an event that is not ready, and a deadline.
const minute = 60_000;
const at = (ms: number): string => new Date(ms).toISOString();

export default Pawl.workflow({
  name: "waiting",
  topics: { job: {} },
  consumers: {
    watch: Pawl.consumer({
      subscribe: ["job"],
      concurrency: 8,
      async prepare(ctx) {
        const [job] = await ctx.peek("job");
        const { url, deadline } = job.payload;
        if (ctx.now() > deadline) {
          return { reservations: [{ topic: "job", ids: [job.id] }], data: { id: job.id, state: "late" }, ui: { title: `${job.id} is late` } };
        }
        const { status, body } = await ctx.http.get({ url, expect: [404] });
        if (status === 404 || body.state !== "done") {
          return { reservations: [], data: null, wakeAt: at(ctx.now() + minute) };
        }
        return { reservations: [{ topic: "job", ids: [job.id] }], data: { id: job.id, state: "done" }, ui: { title: `${job.id} is done` } };
      },
      async mutate(ctx, { data }) {
        await ctx.csv.appendRow({ file: "jobs.csv", header: ["id", "state"], values: data });
      },
    }),
  },
});
