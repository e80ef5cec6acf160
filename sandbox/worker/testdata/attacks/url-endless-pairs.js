// in: prepare
// expect: limit.cpu limit.memory
new URLSearchParams((function* () { for (let i = 0; ; i++) yield ["k" + i, "v"] })());
