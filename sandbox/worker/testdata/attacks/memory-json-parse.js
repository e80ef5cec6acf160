// in: prepare
// expect: limit.memory
return JSON.parse("[" + "1,".repeat(2e7) + "1]").length;
