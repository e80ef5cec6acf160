// in: describe
// expect: limit.cpu
export default Keep.workflow({ get name() { for (;;) {} } });
