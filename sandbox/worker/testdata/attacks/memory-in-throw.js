// in: prepare
// expect: limit.memory script.crashed
throw { get message() { return "x".repeat(1e9) } };
