// in: prepare
// expect: limit.memory
let o = {};
for (let i = 0; ; i++) o = { o, s: "x" + i };
