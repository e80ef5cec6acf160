// in: prepare
// expect: limit.stack limit.memory
return JSON.parse("[".repeat(5e6));
