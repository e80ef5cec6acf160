// in: prepare
// expect: limit.cpu
("a".repeat(40) + "b").replace(/(?=(a+)+c)/g, "");
