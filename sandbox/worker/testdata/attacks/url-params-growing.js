// in: prepare
// expect: limit.cpu limit.memory script.threw
const u = new URL("http://h/");
for (;;) u.searchParams.append("x".repeat(1e5), "ü".repeat(1e5));
