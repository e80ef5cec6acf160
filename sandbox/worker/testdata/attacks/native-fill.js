// in: prepare
// expect: limit.cpu limit.memory
Array.prototype.fill.call({ length: 2 ** 53 - 1 }, 1);
