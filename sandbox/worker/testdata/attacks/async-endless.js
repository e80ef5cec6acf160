// in: prepare
// expect: limit.cpu limit.memory
await Array.fromAsync((async function* () { for (;;) yield 1 })());
