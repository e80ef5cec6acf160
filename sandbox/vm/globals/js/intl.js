// Intl, and the methods that write and compare as people of a locale do. The knowledge is native: make
// turns locales and options, written as JSON, into a function that formats; here they are read, which may
// run any code of the script.
(function (make, names, supported) {
  const { stringify } = JSON;
  const { defineProperty, create } = Object;
  const ordinary = { at: Date.prototype.getTime, upper: String.prototype.toUpperCase, lower: String.prototype.toLowerCase,
    number: Number.prototype.valueOf, big: BigInt.prototype.valueOf };
  const call = Function.prototype.call.bind(Function.prototype.call);
  const isArray = Array.isArray;

  function tags(locales) {
    if (locales === undefined) return [];
    if (typeof locales === "string") return [locales];
    if (!isArray(locales)) throw new TypeError("Intl: locales are a string such as \"en-US\" or an array of them");
    const list = [];
    for (let i = 0; i < locales.length; i++) {
      if (typeof locales[i] !== "string") throw new TypeError("Intl: locales are a string such as \"en-US\" or an array of them");
      defineProperty(list, i, { value: locales[i], enumerable: true });
    }
    return list;
  }

  function request(kind, locales, options, fields) {
    const given = create(null);
    const list = tags(locales);
    if (options === null) throw new TypeError("Intl: the options are null");
    if (options !== undefined) {
      const known = names(kind);
      for (let i = 0; i < known.length; i++) {
        const name = known[i], value = options[name];
        if (value === undefined) continue;
        if (name === "hour12" || name === "numeric" || name === "ignorePunctuation") given[name] = value ? "true" : "false";
        else if (name === "useGrouping") given[name] = value === true ? "always" : value === "true" || value === "false" ? "auto" : value ? `${value}` : "false";
        else if (/Digits$/.test(name)) given[name] = `${+value}`;
        else given[name] = `${value}`;
      }
    }
    return stringify({ kind, locales: list, options: given, fields });
  }

  // The last few requests are kept: a format is often made anew for each of many values.
  let made = new Map();
  function format(kind, locales, options, fields) {
    const key = request(kind, locales, options, fields);
    let f = made.get(key);
    if (f === undefined) {
      if (made.size >= 16) made = new Map();
      f = make(key);
      made.set(key, f);
    }
    return f;
  }

  function numeric(value) {
    if (typeof value === "number" || typeof value === "string") return value;
    if (typeof value === "bigint") return `${value}`;
    return +value;
  }
  const time = (date) => date === undefined ? Date.now() : +date;

  function resolve(f) {
    const flat = f("resolved"), o = {};
    for (let i = 0; i < flat.length; i += 2) {
      const name = flat[i], value = flat[i + 1];
      o[name] = /Digits$|Increment$/.test(name) ? +value : name === "pluralCategories" ? value.split(" ")
        : name !== "caseFirst" && (value === "true" || value === "false") ? value === "true" : value;
    }
    return o;
  }
  function parts(flat) {
    const list = [];
    for (let i = 0; i < flat.length; i += 2) list.push({ type: flat[i], value: flat[i + 1] });
    return list;
  }

  function Intl() {
    const states = new WeakMap();
    const state = (object, name) => {
      const f = states.get(object);
      if (f === undefined) throw new TypeError(`Intl: this is no ${name}`);
      return f;
    };
    // type makes a constructor that can also be called without new.
    function type(name, kind, fields, callable, members) {
      const Type = { [name]: function (locales, options) {
        if (new.target === undefined) {
          if (!callable) throw new TypeError(`Intl.${name} needs new`);
          return new Type(locales, options);
        }
        states.set(this, format(kind, locales, options, fields));
      } }[name];
      Object.defineProperties(Type.prototype, Object.getOwnPropertyDescriptors(members));
      for (const member of Object.keys(members)) defineProperty(Type.prototype, member, { enumerable: false });
      defineProperty(Type.prototype, Symbol.toStringTag, { value: `Intl.${name}`, configurable: true });
      defineProperty(Type, "supportedLocalesOf", { value: (locales) => supported(stringify(tags(locales))), writable: true, configurable: true });
      return Type;
    }

    const Intl = {};
    const types = {
      NumberFormat: type("NumberFormat", "number", "", true, {
        get format() { const f = state(this, "NumberFormat"); return (value) => f("text", numeric(value)); },
        formatToParts(value) { return parts(state(this, "NumberFormat")("parts", numeric(value))); },
        resolvedOptions() { return resolve(state(this, "NumberFormat")); },
      }),
      DateTimeFormat: type("DateTimeFormat", "date", "any", true, {
        get format() { const f = state(this, "DateTimeFormat"); return (date) => f("text", time(date)); },
        formatToParts(date) { return parts(state(this, "DateTimeFormat")("parts", time(date))); },
        resolvedOptions() { return resolve(state(this, "DateTimeFormat")); },
      }),
      Collator: type("Collator", "collator", "", true, {
        get compare() { const f = state(this, "Collator"); return (a, b) => f("compare", `${a}`, `${b}`); },
        resolvedOptions() { return resolve(state(this, "Collator")); },
      }),
      PluralRules: type("PluralRules", "plural", "", false, {
        select(value) { return state(this, "PluralRules")("text", +value); },
        resolvedOptions() { return resolve(state(this, "PluralRules")); },
      }),
    };
    const absent = {
      ListFormat: "use join(\", \")", RelativeTimeFormat: "write it with Intl.PluralRules", DisplayNames: "keep a table of your own",
      Segmenter: "use Array.from(text) for code points", Locale: "write locales as text", DurationFormat: "write it with Intl.NumberFormat",
    };
    for (const name of Object.keys(absent)) {
      types[name] = { [name]: function () { throw new TypeError(`Intl.${name} does not exist in Pawl scripts: ${absent[name]}`); } }[name];
    }
    for (const name of Object.keys(types)) defineProperty(Intl, name, { value: types[name], writable: true, configurable: true });
    defineProperty(Intl, Symbol.toStringTag, { value: "Intl", configurable: true });
    return Intl;
  }

  function date(self, locales, options, fields) {
    const at = call(ordinary.at, self);
    if (at !== at) return "Invalid Date";
    return format("date", locales, options, fields)("text", at);
  }
  // Languages that change the case of letters in a way of their own.
  const ownCase = /^(tr|az|lt|el|hy)(-|$)/i;
  function changeCase(change, name, self, locales) {
    for (const tag of tags(locales)) {
      if (ownCase.test(tag)) throw new RangeError(`${name}: the locale "${tag}" is not supported here; use toUpperCase or toLowerCase`);
    }
    return call(change, self);
  }

  return {
    Intl,
    date: (self, locales, options) => date(self, locales, options, "all"),
    day: (self, locales, options) => date(self, locales, options, "date"),
    clock: (self, locales, options) => date(self, locales, options, "time"),
    number: (self, locales, options) => format("number", locales, options, "")("text", call(ordinary.number, self)),
    big: (self, locales, options) => format("number", locales, options, "")("text", `${call(ordinary.big, self)}`),
    compare: (self, that, locales, options) => {
      if (self === undefined || self === null) throw new TypeError("localeCompare of null or undefined");
      return format("collator", locales, options, "")("compare", `${self}`, `${that}`);
    },
    list: (self, locales, options) => {
      let text = "";
      for (let i = 0; i < self.length; i++) {
        if (i > 0) text += ",";
        const item = self[i];
        if (item !== undefined && item !== null) text += item.toLocaleString(locales, options);
      }
      return text;
    },
    upper: (self, locales) => changeCase(ordinary.upper, "toLocaleUpperCase", self, locales),
    lower: (self, locales) => changeCase(ordinary.lower, "toLocaleLowerCase", self, locales),
  };
})
