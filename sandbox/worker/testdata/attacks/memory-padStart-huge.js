// in: prepare
// expect: script.crashed script.threw limit.memory
return "x".padStart(2 ** 53).length;
