// in: prepare
// expect: script.threw
const r = Proxy.revocable({}, {});
r.revoke();
throw r.proxy;
