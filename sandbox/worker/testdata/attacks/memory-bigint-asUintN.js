// in: prepare
// expect: script.crashed limit.memory
return BigInt.asUintN(2 ** 53 - 1, -1n) > 0n;
