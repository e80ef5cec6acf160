// in: prepare
// expect: limit.cpu
// a start behind the first letter takes the backtracking engine
const r = /(a+)+$/g;
r.lastIndex = 1;
r.test("a".repeat(40) + "b");
