// in: prepare
// expect: limit.cpu
return { toJSON() { for (;;) {} } };
