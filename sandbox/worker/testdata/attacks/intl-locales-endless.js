// in: prepare
// expect: limit.cpu limit.memory
Intl.NumberFormat(new Proxy([], { get: (_, k) => k === "length" ? 2 ** 53 : "de-DE" }));
