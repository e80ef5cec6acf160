// in: prepare
// expect: limit.cpu limit.memory limit.stack script.threw ok
Object.defineProperty(Array.prototype, "0", { get() { for (;;) {} }, set() { for (;;) {} } });
new URLSearchParams("a=1&b=2").append("c", "d");
