// in: prepare
// expect: limit.stack
const f = (n) => g(n + 1), g = (n) => f(n + 1);
f(0);
