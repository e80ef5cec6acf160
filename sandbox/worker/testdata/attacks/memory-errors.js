// in: prepare
// expect: limit.memory limit.cpu
const e = [];
for (;;) e.push(new Error("x".repeat(1000) + e.length));
