// Promise.withResolvers and Promise.try.
(function () {
  Object.defineProperty(Promise, "withResolvers", {
    value: function withResolvers() {
      let resolve, reject;
      const promise = new this((yes, no) => { resolve = yes; reject = no; });
      return { promise, resolve, reject };
    },
    writable: true, configurable: true,
  });
  Object.defineProperty(Promise, "try", {
    value: function (f, ...args) { return new this((resolve) => resolve(f(...args))); },
    writable: true, configurable: true,
  });
})
