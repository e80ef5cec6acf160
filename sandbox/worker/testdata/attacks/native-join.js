// in: prepare
// expect: limit.cpu limit.memory
Array(1e9).join();
