// in: describe
// expect: limit.cpu
export default Keep.workflow(new Proxy({}, { ownKeys() { for (;;) {} } }));
