// in: prepare
// expect: limit.stack
const f = () => f() + 1;
try { f() } catch { return 1 }
