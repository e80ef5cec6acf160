// in: prepare
// expect: limit.cpu limit.memory
new URLSearchParams([(function* () { for (;;) yield "x" })()]);
