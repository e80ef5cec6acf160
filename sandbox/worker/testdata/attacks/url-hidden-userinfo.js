// in: prepare
// expect: limit.cpu limit.memory script.threw ok
try { new URL("ht\ntp:/\n/" + "a".repeat(9e5) + "@h") } catch { }
return 1;
