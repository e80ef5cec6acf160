// in: prepare
// expect: script.threw
throw new Proxy({}, { get() { throw new Error("trap") } });
