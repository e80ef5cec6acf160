// in: prepare
// expect: limit.memory script.crashed script.threw
return "x".padStart(2 ** 30, "abc").length;
