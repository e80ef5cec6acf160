// in: prepare
// expect: limit.cpu
new Function("for (;;) {}")();
