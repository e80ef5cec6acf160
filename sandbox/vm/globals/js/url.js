// URL and URLSearchParams. What is hard is native: address takes a text, a base or undefined and, to change
// one, the name of a member and its new text, and answers all members or null; decode and encode know
// the form of queries.
(function (address, decode, encode) {
  const members = ["href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"];
  const { defineProperty } = Object;
  const text = (value) => `${value}`;
  const inspect = (name) => ({ value: name, configurable: true });
  let link, reload;

  class URLSearchParams {
    #list = [];
    #changed = undefined;
    constructor(init) {
      if (init === undefined || init === null) init = "";
      if (typeof init !== "object" && typeof init !== "function") {
        this.#list = decode(text(init));
      } else if (init[Symbol.iterator] !== undefined && init[Symbol.iterator] !== null) {
        for (const pair of init) {
          const both = [...pair];
          if (both.length !== 2) throw new TypeError("URLSearchParams: each pair has a name and a value");
          this.#list.push(text(both[0]), text(both[1]));
        }
      } else {
        for (const name of Object.keys(init)) this.append(name, init[name]);
      }
    }
    #done() {
      if (this.#changed !== undefined) this.#changed(encode(this.#list));
    }
    #find(name, from) {
      for (let i = from; i < this.#list.length; i += 2) if (this.#list[i] === name) return i;
      return -1;
    }
    append(name, value) {
      this.#list.push(text(name), text(value));
      this.#done();
    }
    delete(name, value) {
      name = text(name);
      if (value !== undefined) value = text(value);
      const kept = [];
      for (let i = 0; i < this.#list.length; i += 2) {
        if (this.#list[i] !== name || value !== undefined && this.#list[i + 1] !== value) kept.push(this.#list[i], this.#list[i + 1]);
      }
      this.#list = kept;
      this.#done();
    }
    get(name) {
      const i = this.#find(text(name), 0);
      return i < 0 ? null : this.#list[i + 1];
    }
    getAll(name) {
      name = text(name);
      const all = [];
      for (let i = this.#find(name, 0); i >= 0; i = this.#find(name, i + 2)) all.push(this.#list[i + 1]);
      return all;
    }
    has(name, value) {
      name = text(name);
      if (value !== undefined) value = text(value);
      for (let i = this.#find(name, 0); i >= 0; i = this.#find(name, i + 2)) {
        if (value === undefined || this.#list[i + 1] === value) return true;
      }
      return false;
    }
    set(name, value) {
      name = text(name);
      value = text(value);
      const first = this.#find(name, 0), kept = [];
      if (first < 0) {
        this.#list.push(name, value);
      } else {
        for (let i = 0; i < this.#list.length; i += 2) {
          if (i === first) kept.push(name, value);
          else if (this.#list[i] !== name) kept.push(this.#list[i], this.#list[i + 1]);
        }
        this.#list = kept;
      }
      this.#done();
    }
    sort() {
      const pairs = [], sorted = [];
      for (let i = 0; i < this.#list.length; i += 2) pairs.push([this.#list[i], this.#list[i + 1]]);
      pairs.sort((a, b) => a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0);
      for (const pair of pairs) sorted.push(pair[0], pair[1]);
      this.#list = sorted;
      this.#done();
    }
    forEach(f, self) {
      if (typeof f !== "function") throw new TypeError("URLSearchParams.forEach needs a function");
      for (let i = 0; i < this.#list.length; i += 2) f.call(self, this.#list[i + 1], this.#list[i], this);
    }
    *keys() { for (let i = 0; i < this.#list.length; i += 2) yield this.#list[i]; }
    *values() { for (let i = 0; i < this.#list.length; i += 2) yield this.#list[i + 1]; }
    *entries() { for (let i = 0; i < this.#list.length; i += 2) yield [this.#list[i], this.#list[i + 1]]; }
    get size() { return this.#list.length / 2; }
    toString() { return encode(this.#list); }
    static {
      link = (query, changed) => {
        const params = new URLSearchParams(query);
        params.#changed = changed;
        return params;
      };
      reload = (params, query) => { params.#list = decode(query); };
    }
  }
  defineProperty(URLSearchParams.prototype, Symbol.iterator, { value: URLSearchParams.prototype.entries, writable: true, configurable: true });
  defineProperty(URLSearchParams.prototype, Symbol.toStringTag, inspect("URLSearchParams"));

  function parse(input, base) {
    return address(text(input), base === undefined ? undefined : text(base));
  }

  class URL {
    #members;
    #params;
    constructor(input, base) {
      this.#members = parse(input, base);
      if (this.#members === null) throw invalid(input, base);
    }
    get searchParams() {
      this.#params ??= link(this.search, (query) => { this.#change("search", query); });
      return this.#params;
    }
    toString() { return this.#members[0]; }
    toJSON() { return this.#members[0]; }
    #change(name, value) {
      const changed = address(this.#members[0], undefined, name, value);
      if (changed !== null) this.#members = changed;
    }
    static canParse(input, base) { return parse(input, base) !== null; }
    static parse(input, base) { return URL.canParse(input, base) ? new URL(input, base) : null; }
    static {
      members.forEach((name, i) => {
        const get = { [name]() { return this.#members[i]; } }[name];
        const set = (self, value) => {
          value = text(value);
          if (name === "href") {
            const changed = address(value, undefined);
            if (changed === null) throw invalid(value);
            self.#members = changed;
          } else {
            self.#change(name, value);
          }
          if ((name === "href" || name === "search") && self.#params !== undefined) reload(self.#params, self.search);
        };
        defineProperty(URL.prototype, name, { get, set: name === "origin" ? undefined : function (value) { set(this, value); }, enumerable: true, configurable: true });
      });
    }
  }
  defineProperty(URL.prototype, Symbol.toStringTag, inspect("URL"));

  function invalid(input, base) {
    const error = new TypeError(`Invalid URL: ${text(input).slice(0, 200)}` + (base === undefined ? "" : ` with base ${text(base).slice(0, 200)}`));
    error.code = "ERR_INVALID_URL";
    return error;
  }

  return { URL, URLSearchParams };
})
