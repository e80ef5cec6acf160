// in: prepare
// expect: limit.stack limit.memory script.threw
return new RegExp("(".repeat(1e6) + ")".repeat(1e6)).test("x");
