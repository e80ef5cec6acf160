// in: describe
// expect: limit.cpu limit.memory
const n = 7n ** 50000000n;
export default Keep.workflow({});
