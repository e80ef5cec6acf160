// in: prepare
// expect: limit.cpu
Iterator.from({ next() { for (;;) {} } }).take(1).toArray();
