// in: prepare
// expect: limit.memory
const p = [];
for (;;) p.push(new Promise(() => {}).then(() => p));
