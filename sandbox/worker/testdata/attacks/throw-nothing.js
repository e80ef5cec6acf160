// in: prepare
// expect: script.threw
throw Object.create(null);
