// A choice between two lists by a conditional expression, and a reservation that names both topics.
export default Pawl.workflow({
  name: "ternary",
  topics: { urgent: {}, normal: {}, answer: {}, question: {} },
  consumers: {
    work: Pawl.consumer({
      subscribe: ["urgent", "normal"],
      async prepare(ctx) {
        const urgent = await ctx.peek("urgent", { limit: 1 });
        const normal = await ctx.peek("normal", { limit: 1 });
        const isUrgent = urgent.length > 0;
        const job = isUrgent ? urgent[0] : normal[0];
        if (!job) return { reservations: [], data: null };
        return {
          reservations: [isUrgent ? { topic: "urgent", ids: [job.id] } : { topic: "normal", ids: [job.id] }],
          data: { name: job.payload.name, fast: isUrgent },
          ui: { title: `Start ${job.payload.name}` },
        };
      },
      async mutate(ctx, { data }) {
        await ctx.http.post({ url: "https://api.example.com/jobs", body: data });
      },
    }),
    pair: Pawl.consumer({
      subscribe: ["answer", "question"],
      async prepare(ctx) {
        const [question] = await ctx.peek("question", { limit: 1 });
        if (!question) return { reservations: [], data: null };
        const [answer] = await ctx.getByIds("answer", [question.id]);
        const pending = answer?.status === "pending";
        return {
          reservations: [
            { topic: "question", ids: [question.id] },
            { topic: "answer", ids: pending ? [answer.id] : [] },
          ],
          data: { question: question.payload.text, answer: pending ? answer.payload.text : null },
          ui: { title: `Question ${question.id}` },
        };
      },
      async mutate(ctx, { data }) {
        await ctx.csv.appendRow({ file: "answers.csv", values: [data.question, data.answer ?? "none"] });
      },
    }),
  },
});
