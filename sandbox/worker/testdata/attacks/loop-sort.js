// in: prepare
// expect: limit.cpu
[3, 2, 1].sort(() => { for (;;) {} });
