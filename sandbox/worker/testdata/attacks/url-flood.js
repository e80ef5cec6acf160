// in: prepare
// expect: limit.cpu limit.memory
const all = [];
for (;;) all.push(new URL("http://h/" + "x".repeat(1e5)));
