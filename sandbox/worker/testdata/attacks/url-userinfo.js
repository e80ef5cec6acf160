// in: prepare
// expect: script.threw
new URL("http://" + "a".repeat(5e5) + "@h");
