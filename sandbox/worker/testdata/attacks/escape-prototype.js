// in: prepare
// expect: ok
Object.prototype.then = function (f) { f(5) };
Array.prototype.toJSON = () => "x";
JSON.parse = JSON.stringify = () => { throw 1 };
Promise.prototype.then = null;
return 1;
