// in: prepare
// expect: script.threw
JSON.stringify = () => "[[[";
new Date().toLocaleString("de-DE");
