// in: prepare
// expect: limit.cpu limit.memory
Array.prototype.reverse.call({ length: 2 ** 53 - 1 });
