// in: prepare
// expect: limit.stack limit.memory ok
let f = () => 1;
for (let i = 0; i < 1e6; i++) f = f.bind(null);
return f();
