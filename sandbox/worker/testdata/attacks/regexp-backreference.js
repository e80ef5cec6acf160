// in: prepare
// expect: limit.cpu
/^(a*)*\1b$/.test("a".repeat(40));
