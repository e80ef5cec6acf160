// in: prepare
// expect: ok script.threw
return 1;
//# sourceMappingURL=file:///dev/zero
