// structuredClone for what scripts can hold: plain data, arrays, Date, Map, Set, RegExp, errors and
// byte buffers, with cycles kept. Functions and symbols are refused, as the standard says.
(function (global) {
  const { keys, prototype: { hasOwnProperty } } = Object;
  const tag = Object.prototype.toString, opaque = /^\[object (URL|URLSearchParams|Intl\..*|Generator)\]$/;
  function clone(value, seen) {
    if (typeof value === "function" || typeof value === "symbol") {
      throw new TypeError("structuredClone: a " + typeof value + " cannot be cloned");
    }
    if (typeof value !== "object" || value === null) return value;
    if (seen.has(value)) return seen.get(value);
    let copy;
    if (value instanceof Date) copy = new Date(value.getTime());
    else if (value instanceof RegExp) copy = new RegExp(value.source, value.flags);
    else if (value instanceof ArrayBuffer) copy = value.slice(0);
    else if (ArrayBuffer.isView(value)) {
      if (value instanceof DataView) throw new TypeError("structuredClone: a DataView cannot be cloned");
      copy = value.slice();
    } else if (value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet
      || opaque.test(tag.call(value))) {
      throw new TypeError("structuredClone: this object cannot be cloned");
    }
    if (copy !== undefined) {
      seen.set(value, copy);
      return copy;
    }
    if (value instanceof Map) {
      copy = new Map();
      seen.set(value, copy);
      value.forEach((v, k) => copy.set(clone(k, seen), clone(v, seen)));
      return copy;
    }
    if (value instanceof Set) {
      copy = new Set();
      seen.set(value, copy);
      value.forEach((v) => copy.add(clone(v, seen)));
      return copy;
    }
    if (value instanceof Error) {
      copy = new Error(value.message);
      if (hasOwnProperty.call(value, "name") || value.name !== "Error") copy.name = value.name;
      if ("cause" in value) copy.cause = clone(value.cause, seen);
      seen.set(value, copy);
      return copy;
    }
    copy = Array.isArray(value) ? new Array(value.length) : {};
    seen.set(value, copy);
    for (const key of keys(value)) {
      Object.defineProperty(copy, key, { value: clone(value[key], seen), writable: true, enumerable: true, configurable: true });
    }
    return copy;
  }
  Object.defineProperty(global, "structuredClone", {
    value: function structuredClone(value) { return clone(value, new Map()); },
    writable: true, configurable: true,
  });
})
