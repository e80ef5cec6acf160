// in: prepare
// expect: limit.cpu
/^(?=(a+)+b)/.test("a".repeat(40));
