// in: prepare
// expect: limit.cpu
Error.captureStackTrace(new Proxy({}, { defineProperty() { for (;;) {} } }));
