// in: prepare
// expect: phase.forbidden
try { await ctx.mail.send({}) } catch {}
return 1;
