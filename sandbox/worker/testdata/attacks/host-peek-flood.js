// in: prepare
// expect: limit.hostCalls
for (;;) await ctx.peek("t.a");
