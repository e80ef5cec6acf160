// in: prepare
// expect: limit.cpu
(1).toLocaleString("de-DE", new Proxy({}, { get() { for (;;) {} } }));
