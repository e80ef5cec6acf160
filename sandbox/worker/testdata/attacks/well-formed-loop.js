// in: prepare
// expect: limit.cpu
String.prototype.isWellFormed.call({ toString() { for (;;) {} } });
