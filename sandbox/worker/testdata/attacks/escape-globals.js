// in: prepare
// expect: ok
for (const k of Object.getOwnPropertyNames(globalThis)) { try { delete globalThis[k] } catch {} }
return 1;
