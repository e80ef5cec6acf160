// in: prepare
// expect: limit.cpu
JSON.stringify = () => { for (;;) {} };
(1).toLocaleString("de-DE", { style: "percent" });
