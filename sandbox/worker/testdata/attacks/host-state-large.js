// in: producer
// expect: limit.state
return "x".repeat(1e6);
