// in: prepare
// expect: limit.cpu
return 1 + { valueOf() { for (;;) {} } };
