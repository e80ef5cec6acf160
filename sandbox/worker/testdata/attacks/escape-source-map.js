// in: prepare
// expect: ok script.threw
try { new Function("throw new Error(1)\n//# sourceMappingURL=file:///dev/zero")() } catch (e) { return e.stack.length < 4096 }
