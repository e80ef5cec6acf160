// in: describe
// expect: limit.cpu
for (;;) {}
export default Keep.workflow({});
