// in: prepare
// expect: limit.cpu
const it = { [Symbol.iterator]() { return { next() { return { value: 1 } }, return() { for (;;) {} } } } };
for (const x of it) break;
