// in: prepare
// expect: limit.memory
return "x".repeat(1e9).length;
