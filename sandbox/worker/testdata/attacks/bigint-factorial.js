// in: prepare
// expect: limit.cpu limit.memory
let n = 1n;
for (let i = 1n; ; i++) n *= i;
