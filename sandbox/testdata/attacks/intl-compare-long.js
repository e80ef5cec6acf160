// in: prepare
// expect: limit.cpu limit.memory ok
const text = "0a".repeat(5e6);
new Intl.Collator("de-DE", { numeric: true }).compare(text, text + "1");
return 1;
