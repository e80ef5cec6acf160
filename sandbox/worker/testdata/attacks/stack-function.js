// in: prepare
// expect: limit.stack limit.memory
return new Function("return " + "(".repeat(5e6));
