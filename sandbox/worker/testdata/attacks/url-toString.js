// in: prepare
// expect: limit.cpu
new URL({ toString() { for (;;) {} } });
