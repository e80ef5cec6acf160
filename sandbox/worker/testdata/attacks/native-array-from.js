// in: prepare
// expect: limit.cpu limit.memory
Array.from({ length: 1e9 });
