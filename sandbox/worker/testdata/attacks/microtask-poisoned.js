// in: prepare
// expect: limit.cpu
Promise.prototype.then = () => { for (;;) {} };
queueMicrotask(() => 1);
