// in: prepare
// expect: limit.cpu
return { get x() { for (;;) {} } };
