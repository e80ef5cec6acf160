// in: prepare
// expect: limit.memory
let s = "ab".repeat(1e6);
return s.split("").map((c) => c.repeat(1000)).join("").length;
