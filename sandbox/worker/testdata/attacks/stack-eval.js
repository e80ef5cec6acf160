// in: prepare
// expect: limit.stack limit.memory
return eval("(".repeat(5e6));
