// in: prepare
// expect: limit.cpu limit.memory script.threw script.crashed limit.stack
Math.max.apply(null, { length: 1e9 });
