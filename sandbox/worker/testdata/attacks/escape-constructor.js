// in: prepare
// expect: ok
const f = ctx.peek.constructor("return typeof process + typeof require + typeof GoError");
return f();
