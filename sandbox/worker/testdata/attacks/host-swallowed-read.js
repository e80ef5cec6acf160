// in: prepare
// expect: read.failed
try { await ctx.mail.broken({}) } catch {}
return 1;
