// in: prepare
// expect: limit.stack limit.memory script.result
let o = [];
for (let i = 0; i < 1e6; i++) o = [o];
return o;
