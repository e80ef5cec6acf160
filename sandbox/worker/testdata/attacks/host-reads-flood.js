// in: prepare
// expect: limit.hostCalls limit.cpu limit.memory
const all = [];
for (;;) all.push(ctx.mail.search({}));
