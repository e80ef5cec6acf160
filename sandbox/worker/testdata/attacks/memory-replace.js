// in: prepare
// expect: limit.memory
return "x".repeat(1e5).replace(/x/g, "y".repeat(1e5)).length;
