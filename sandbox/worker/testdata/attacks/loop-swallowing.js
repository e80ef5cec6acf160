// in: prepare
// expect: limit.cpu
// catch and finally around the interruption
for (;;) { try { for (;;) {} } catch {} finally { continue } }
