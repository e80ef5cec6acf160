// in: prepare
// expect: limit.cpu
return { then() { for (;;) {} } };
