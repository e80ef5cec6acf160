// in: prepare
// expect: limit.stack
const o = { get x() { return this.x } };
return o.x;
