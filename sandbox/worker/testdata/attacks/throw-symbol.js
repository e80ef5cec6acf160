// in: prepare
// expect: script.threw
throw Symbol("x");
