// in: prepare
// expect: limit.result
await ctx.mail.search({ x: "x".repeat(2e6) });
