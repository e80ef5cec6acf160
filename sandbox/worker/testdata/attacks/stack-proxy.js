// in: prepare
// expect: limit.stack limit.cpu
const p = new Proxy({}, { get(t, k, r) { return r[k] } });
return p.x;
