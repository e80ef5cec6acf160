// in: prepare
// expect: script.threw
throw new Error("x".repeat(1e6));
