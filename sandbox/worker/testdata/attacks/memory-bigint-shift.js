// in: prepare
// expect: limit.memory script.crashed script.threw
return (1n << (2n ** 40n)) > 0n;
