// A chain of guards, each with its own answer; an attempt that changes the plan.
export default Pawl.workflow({
  name: "early-returns",
  topics: { request: {}, rejected: {} },
  consumers: {
    answer: Pawl.consumer({
      subscribe: ["request"],
      maxAttempts: 4,
      deadLetter: "rejected",
      async prepare(ctx) {
        const [request] = await ctx.peek("request", { limit: 1 });
        if (!request) return { reservations: [], data: null };
        const cancel = (reason) => ({ reservations: [], data: null, cancel: [{ topic: "request", ids: [request.id], reason }] });
        const { payload, attempt = 1, lastError } = request;
        if (!payload || typeof payload !== "object") return cancel("not an object");
        if (!payload.mail?.includes("@")) return cancel("no address");
        if (Date.parse(payload.until) < ctx.now()) return cancel("too late");
        if (attempt > 1) ctx.log(`again, after ${lastError?.code}`);
        const small = attempt > 2;
        return {
          reservations: [{ topic: "request", ids: [request.id] }],
          data: small ? { mail: payload.mail } : { mail: payload.mail, details: payload.details },
          ui: { title: `Answer ${payload.mail}` },
        };
      },
      async mutate(ctx, { data }) {
        if (!data.mail) return;
        await ctx.http.post({ url: "https://api.example.com/answers", body: data });
      },
    }),
  },
});
