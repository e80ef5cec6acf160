// in: prepare
// expect: limit.cpu
return new Proxy({}, { ownKeys() { for (;;) {} } });
