// The interpreter has two engines for regular expressions. The linear one reads \p{L} as the letters p{L}, and with the
// flag m it takes \n alone for the end of a line: not \r, with which lines of mails end. An empty look-ahead, which only
// the other engine knows, sends such expressions there.
// RegExp.prototype.constructor stays the native one: changing it would send split and matchAll through
// a slow path of the interpreter that has errors of its own.
(function (global) {
  const Native = RegExp;
  const property = /\\[pP]\{/;
  const line = /[$^]/;
  const { construct, setPrototypeOf } = Reflect;
  function repaired(pattern, flags) {
    const repair = typeof pattern === "string" && typeof flags === "string" &&
      (flags.includes("u") && property.test(pattern) || flags.includes("m") && line.test(pattern));
    return repair ? "(?=)" + pattern : pattern;
  }
  function Repaired(pattern, flags) {
    if (new.target === undefined) return Native(repaired(pattern, flags), flags);
    return construct(Native, [repaired(pattern, flags), flags], new.target);
  }
  setPrototypeOf(Repaired, Native);
  Object.defineProperty(Repaired, "name", { value: "RegExp", configurable: true });
  Object.defineProperty(Repaired, "prototype", { value: Native.prototype, writable: false });
  Object.defineProperty(global, "RegExp", { value: Repaired, writable: true, configurable: true });
})
