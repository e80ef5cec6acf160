// in: prepare
// expect: limit.cpu
Object.prototype.toJSON = function () { for (;;) {} };
String.prototype.toJSON = Object.prototype.toJSON;
new Intl.DateTimeFormat("fr-FR");
