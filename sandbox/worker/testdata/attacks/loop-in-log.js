// in: prepare
// expect: limit.cpu
console.log({ toJSON() { for (;;) {} } });
