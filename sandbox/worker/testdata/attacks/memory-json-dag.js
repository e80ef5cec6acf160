// in: prepare
// expect: limit.memory limit.cpu limit.stack
let o = { s: "x".repeat(100) };
for (let i = 0; i < 40; i++) o = [o, o];
return JSON.stringify(o).length;
