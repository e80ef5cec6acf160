// in: prepare
// expect: limit.memory
const s = {};
for (let i = 0; ; i++) s[Symbol("x" + i)] = i;
