// in: prepare
// expect: limit.cpu
// one native loop that no interruption reaches
Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1);
