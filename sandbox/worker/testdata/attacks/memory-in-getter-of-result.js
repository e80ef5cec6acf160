// in: prepare
// expect: limit.memory
return { get x() { const a = []; for (;;) a.push(new Array(1000).fill(1)) } };
