// in: prepare
// expect: script.threw limit.memory
new Intl.NumberFormat("en-US").format("9".repeat(1e7));
