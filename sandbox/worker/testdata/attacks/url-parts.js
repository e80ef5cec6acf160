// in: prepare
// expect: script.threw
new URL("http://h/" + "a/".repeat(4e5));
