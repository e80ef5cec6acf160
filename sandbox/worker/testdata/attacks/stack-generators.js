// in: prepare
// expect: limit.stack limit.memory limit.cpu
// delegation is not counted by the interpreter
function* g() { yield* g() }
for (const x of g());
