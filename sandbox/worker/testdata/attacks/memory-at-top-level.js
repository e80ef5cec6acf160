// in: describe
// expect: limit.cpu limit.memory
const a = [];
for (;;) a.push(new Array(1000).fill(1));
export default Keep.workflow({});
