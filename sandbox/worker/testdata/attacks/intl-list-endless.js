// in: prepare
// expect: limit.cpu limit.memory
Array.prototype.toLocaleString.call({ length: 2 ** 53, 0: 1 });
