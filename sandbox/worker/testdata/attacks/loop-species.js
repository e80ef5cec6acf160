// in: prepare
// expect: limit.cpu
class A extends Array { static get [Symbol.species]() { for (;;) {} } }
new A(1, 2).map((x) => x);
