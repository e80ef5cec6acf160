// in: prepare
// expect: script.threw limit.cpu limit.memory
(7n ** 200000n).toLocaleString("en-US");
