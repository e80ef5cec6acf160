// in: prepare
// expect: limit.result
return "x".repeat(2e6);
