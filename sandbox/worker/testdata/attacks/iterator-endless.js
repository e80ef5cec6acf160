// in: prepare
// expect: limit.cpu limit.memory
(function* () { for (;;) yield [] })().map((x) => [x]).toArray();
