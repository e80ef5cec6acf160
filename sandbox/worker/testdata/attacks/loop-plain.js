// in: prepare
// expect: limit.cpu
for (;;) {}
