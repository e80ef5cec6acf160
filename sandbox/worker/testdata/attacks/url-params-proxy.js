// in: prepare
// expect: limit.cpu
new URLSearchParams(new Proxy({}, { ownKeys() { for (;;) {} } }));
