// in: prepare
// expect: limit.cpu limit.memory
let n = 1n << 40000000n;
return n.toString().length;
