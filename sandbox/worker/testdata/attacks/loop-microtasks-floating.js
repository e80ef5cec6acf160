// in: prepare
// expect: limit.cpu
// the handler has returned, its jobs have not ended
const f = () => Promise.resolve().then(f);
f();
return 1;
