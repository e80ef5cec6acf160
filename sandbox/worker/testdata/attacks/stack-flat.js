// in: prepare
// expect: ok limit.stack limit.memory limit.cpu
let o = [];
for (let i = 0; i < 1e5; i++) o = [o];
return o.flat(Infinity).length;
