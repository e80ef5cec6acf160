// in: prepare
// expect: limit.memory
const f = [];
for (;;) { const big = new Array(100).fill(f.length); f.push(() => big) }
