// in: prepare
// expect: limit.cpu limit.memory
let n = 7n;
return String(n ** 50000000n).length;
