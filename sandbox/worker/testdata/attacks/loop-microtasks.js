// in: prepare
// expect: limit.cpu
const f = () => Promise.resolve().then(f);
await f();
