// in: prepare
// expect: limit.memory script.crashed
let s = "x";
for (;;) { s += s; s.charCodeAt(0) }
