// in: prepare
// expect: script.pending
await new Promise(() => {});
