// Iterator and its helpers. for-of over `steps` closes the iterator underneath when a helper ends early.
(function (prototype) {
  const { defineProperty } = Object;
  function own(it) {
    if (Object(it) !== it) throw new TypeError("Iterator: this is no object");
    return it;
  }
  function callable(it, f, name) {
    own(it);
    if (typeof f !== "function") throw new TypeError(`Iterator.${name} needs a function`);
  }
  function steps(it) {
    const wrapped = { next: it.next.bind(it), return: () => it.return?.() ?? {} };
    return { [Symbol.iterator]: () => wrapped };
  }
  function count(it, n, name) {
    own(it);
    n = +n;
    if (!(n >= 0)) throw new RangeError(`Iterator.${name} needs a number that is not negative`);
    return Math.floor(n);
  }
  function iterable(value, name) {
    const make = value?.[Symbol.iterator];
    if (make !== undefined && make !== null) return make.call(value);
    if (Object(value) !== value || typeof value.next !== "function") throw new TypeError(`Iterator.${name} needs something that can be iterated`);
    return value;
  }
  const lazy = {
    *map(it, f) { let i = 0; for (const x of steps(it)) yield f(x, i++); },
    *filter(it, f) { let i = 0; for (const x of steps(it)) if (f(x, i++)) yield x; },
    *flatMap(it, f) {
      let i = 0;
      for (const x of steps(it)) {
        const inner = f(x, i++);
        if (typeof inner === "string") throw new TypeError("Iterator.flatMap: the function answers a string");
        yield* steps(iterable(inner, "flatMap"));
      }
    },
    *take(it, n) {
      if (n === 0) { it.return?.(); return; }
      let i = 0;
      for (const x of steps(it)) { yield x; if (++i >= n) return; }
    },
    *drop(it, n) { let i = 0; for (const x of steps(it)) if (i++ >= n) yield x; },
    *from(it) { yield* steps(it); },
  };
  const helpers = {
    map(f) { callable(this, f, "map"); return lazy.map(this, f); },
    filter(f) { callable(this, f, "filter"); return lazy.filter(this, f); },
    flatMap(f) { callable(this, f, "flatMap"); return lazy.flatMap(this, f); },
    take(n) { return lazy.take(this, count(this, n, "take")); },
    drop(n) { return lazy.drop(this, count(this, n, "drop")); },
    reduce(f, ...start) {
      callable(this, f, "reduce");
      let some = start.length > 0, all = start[0], i = some ? 0 : 1;
      for (const x of steps(this)) {
        if (some) all = f(all, x, i++);
        else some = true, all = x;
      }
      if (!some) throw new TypeError("Iterator.reduce of nothing without a first value");
      return all;
    },
    toArray() { return [...steps(own(this))]; },
    forEach(f) { callable(this, f, "forEach"); let i = 0; for (const x of steps(this)) f(x, i++); },
    some(f) { callable(this, f, "some"); let i = 0; for (const x of steps(this)) if (f(x, i++)) return true; return false; },
    every(f) { callable(this, f, "every"); let i = 0; for (const x of steps(this)) if (!f(x, i++)) return false; return true; },
    find(f) { callable(this, f, "find"); let i = 0; for (const x of steps(this)) if (f(x, i++)) return x; },
  };
  for (const name of Object.keys(helpers)) defineProperty(prototype, name, { value: helpers[name], writable: true, configurable: true });
  function Iterator() {
    if (new.target === undefined || new.target === Iterator) throw new TypeError("Iterator is abstract: extend it, or use Iterator.from");
  }
  defineProperty(Iterator, "prototype", { value: prototype, writable: false });
  defineProperty(prototype, "constructor", { value: Iterator, writable: true, configurable: true });
  defineProperty(Iterator, "from", {
    value: function from(value) {
      const it = iterable(value, "from");
      return prototype.isPrototypeOf(it) ? it : lazy.from(it);
    },
    writable: true, configurable: true,
  });
  return { Iterator };
})
