// in: prepare
// expect: limit.cpu limit.memory
for (;;) console.log("x".repeat(1e6));
