// in: prepare
// expect: limit.memory script.threw script.crashed
return new ArrayBuffer(1e10).byteLength;
