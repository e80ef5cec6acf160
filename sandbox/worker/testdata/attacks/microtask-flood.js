// in: prepare
// expect: limit.cpu limit.memory
const again = () => { queueMicrotask(again) };
again();
