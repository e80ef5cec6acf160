// in: prepare
// expect: script.threw
const e = new Error("x");
e.cause = e;
throw e;
