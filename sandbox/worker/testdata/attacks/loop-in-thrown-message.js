// in: prepare
// expect: limit.cpu
throw { get message() { for (;;) {} } };
