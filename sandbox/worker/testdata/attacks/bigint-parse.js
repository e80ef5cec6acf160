// in: prepare
// expect: limit.cpu limit.memory
return BigInt("9".repeat(2e7)) > 1n;
