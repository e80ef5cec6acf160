// in: prepare
// expect: limit.stack
const o = { toString() { return "" + o } };
return "" + o;
