// in: prepare
// expect: limit.memory limit.cpu
const p = [];
for (;;) p.push(new Promise(() => {}).then(() => p));
