// in: prepare
// expect: limit.cpu
Iterator.from({ next() { return { value: 1, done: false } }, return() { for (;;) {} } }).find(() => true);
