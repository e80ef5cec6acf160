// in: prepare
// expect: script.threw
new Date().toLocaleString("en-US", { timeZone: "../../../etc/passwd" });
