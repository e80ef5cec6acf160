// in: mutate
// expect: call
try { await ctx.mail.send({ n: 1 }) } finally { await ctx.mail.send({ n: 2 }) }
