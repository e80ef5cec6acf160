// in: prepare
// expect: script.threw limit.cpu limit.memory
const text = "0a".repeat(5e6);
new Intl.Collator("de-DE", { numeric: true }).compare(text, text + "1");
return 1;
