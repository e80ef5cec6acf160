// in: prepare
// expect: limit.cpu
"aaa".replace(/a/g, () => { for (;;) {} });
