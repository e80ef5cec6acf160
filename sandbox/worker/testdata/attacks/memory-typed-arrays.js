// in: prepare
// expect: limit.memory
const keep = [];
for (;;) { const a = new Uint8Array(64 << 20); a.fill(1); keep.push(a) }
