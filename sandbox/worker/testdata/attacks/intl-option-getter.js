// in: prepare
// expect: limit.cpu
new Intl.NumberFormat("en-US", { get style() { for (;;) {} } });
