// in: prepare
// expect: limit.memory script.crashed
const keep = [];
for (;;) { try { keep.push("x".repeat(1 << 20) + keep.length) } catch {} }
