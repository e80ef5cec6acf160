// in: prepare
// expect: limit.cpu limit.memory
// the compiler computes it
return (7n ** 50000000n) > 1n;
