// in: prepare
// expect: script.crashed script.threw limit.memory
return "abc".repeat(2 ** 62).length;
