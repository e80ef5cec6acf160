// Writes locales.json, what Node knows about the locales of this package: node generate.mjs > locales.json
//
// A pattern is text with fields in braces: {d} {m} {y} {h} {i} {s} are day, month, year, hour, minute and
// second, in capitals with two digits; {y2} is the year's last two; {M0} {W0} are names of a list, {p} is the
// part of the day, {f} the fraction of a second, {z} the zone.
//
// A key says what was asked for, one letter each: weekday, year, month, day; hour, minute, second, the clock
// (h 1-12, K 0-11, H 0-23, k 1-24), zone (z short, Z long, o and O its offset). A pattern that follows from the
// one with n for 2, h for K, H for k and z for every zone is left out. The patterns of a date and a time are
// joined; where Node does not, the result is among `both`.

const locales = ["en-US", "en-GB", "en-CA", "en-AU", "de-DE", "de-AT", "de-CH", "fr-FR", "es-ES", "it-IT", "nl-NL",
  "pt-BR", "pl-PL", "sv-SE", "da-DK", "ja-JP", "zh-CN"];
const currencies = ["USD", "EUR", "GBP", "JPY", "CHF", "SEK", "DKK", "NOK", "PLN", "CZK", "HUF", "CAD", "AUD", "NZD", "CNY",
  "INR", "BRL", "MXN", "ZAR", "SGD", "HKD", "KRW", "TRY", "ILS", "UAH", "AED", "RON", "THB"];

const word = { n: "numeric", 2: "2-digit", s: "short", l: "long" };
const sampled = { day: "d", month: "m", year: "y", hour: "h", minute: "i", second: "s" };
const options = (names, key) => Object.fromEntries(names.map((name, i) => [name, word[key[i]]]).filter(([, v]) => v));
const cycles = { h: "h12", K: "h11", H: "h23", k: "h24" };
const plain = (key) => key.replaceAll("2", "n").replace(/[ZoO]$/, "z").replace("K", "h").replace("k", "H");
const styles = ["full", "long", "medium", "short"];
const date = (key) => options(["weekday", "year", "month", "day"], key);
const time = (key) => ({ ...options(["hour", "minute", "second"], key), hourCycle: cycles[key[3]],
  ...(key[4] === "-" ? {} : { timeZoneName: { z: "short", Z: "long", o: "shortOffset", O: "longOffset" }[key[4]] }) });

// combine is the product of alphabets.
const combine = (...alphabets) => alphabets.reduce((all, a) => all.flatMap((x) => [...a].map((c) => x + c)), [""]);

class Locale {
  constructor(name) {
    Object.assign(this, { name, months: [], weekdays: [], dates: {}, times: {}, dateStyles: {}, timeStyles: {}, both: {} });
    this.hours = Object.fromEntries([["default", {}], ["12", { hour12: true }], ["24", { hour12: false }]].map(([k, o]) =>
      [k, new Intl.DateTimeFormat(name, { hour: "numeric", ...o }).resolvedOptions().hourCycle]));
    this.periods = [3, 15].map((hour) => this.part({ hour: "numeric", hourCycle: "h12" }, [2026, 0, 5, hour], "dayPeriod"));
    this.fill("dates", combine("-sl", "-n2", "-n2sl", "-n2").filter((k) => k !== "----"), date);
    const clocks = combine("-n2", "-n2", "-n2", "hHKk", "-zZoO").filter((k) => !k.startsWith("---"));
    this.fill("times", clocks, time);
    for (const style of styles) {
      this.dateStyles[style] = this.pattern({ dateStyle: style });
      for (const c of "hHKk") this.timeStyles[style + " " + c] = this.pattern({ timeStyle: style, hourCycle: cycles[c] });
    }
    this.joins();
    for (const day of styles) {
      for (const style of Object.keys(this.timeStyles)) {
        const [timeStyle, c] = style.split(" ");
        const pattern = this.pattern({ dateStyle: day, timeStyle, hourCycle: cycles[c] });
        if (pattern !== this.dateStyles[day] + this.styleJoins[styles.indexOf(day)] + this.timeStyles[style]) this.both[day + " " + style] = pattern;
      }
    }
    for (const day of ["s---", "l---"]) {
      for (const key of clocks) {
        const pattern = this.pattern({ ...date(day), ...time(key) });
        if (pattern !== (derived(this.both, day + " " + key) ?? derived(this.dates, day) + this.fieldJoins[3] + derived(this.times, key))) this.both[day + " " + key] = pattern;
      }
    }
    this.zones = [this.part({ timeZoneName: "short" }, [2026, 0, 5], "timeZoneName"), this.part({ timeZoneName: "long" }, [2026, 0, 5], "timeZoneName")];
    // An offset is zero, or a sign with what stands before it, and hours and minutes with what stands between.
    const offset = (timeZone) => this.parts({ timeZone, timeZoneName: "longOffset" }, [2026, 0, 5]).find((p) => p.type === "timeZoneName").value;
    const [, east, , between] = /^(\D+)(05)(\D)30$/.exec(offset("Asia/Kolkata")), [, west] = /^(\D+)05.00$/.exec(offset("America/New_York"));
    this.offsets = [offset("UTC"), east, west, between];
    this.fraction = this.parts({ second: "numeric", fractionalSecondDigits: 1 }, [2026, 0, 5]).find((p) => p.type === "literal").value;
    this.numbers();
  }
  parts(o, when) {
    return new Intl.DateTimeFormat(this.name, { timeZone: "UTC", ...o }).formatToParts(new Date(Date.UTC(...when)));
  }
  part(o, when, type) {
    return this.parts(o, when).find((p) => p.type === type)?.value;
  }
  // pattern finds out how a format is made by looking at the fifth of January 2026, 3:04:06.
  pattern(o) {
    return this.parts(o, [2026, 0, 5, 3, 4, 6]).map(({ type, value }, i) => {
      if (type === "literal") return value;
      if (type === "timeZoneName") return "{z}";
      if (type === "dayPeriod") return "{p}";
      if (type === "year") return value.length === 2 ? "{y2}" : "{y}";
      const list = (into, whens) => {
        const names = whens.map((w) => this.parts(o, w)[i].value);
        let at = into.findIndex((known) => known.join() === names.join());
        if (at < 0) at = into.push(names) - 1;
        return at;
      };
      if (type === "weekday") return `{W${list(this.weekdays, [4, 5, 6, 7, 8, 9, 10].map((d) => [2026, 0, d]))}}`;
      if (type === "month" && !/^\d+$/.test(value)) return `{M${list(this.months, [...Array(12).keys()].map((m) => [2026, m, 5]))}}`;
      const field = sampled[type];
      if (!field) throw new Error(`${this.name}: ${type}`);
      return `{${value.length === 2 ? field.toUpperCase() : field}}`;
    }).join("");
  }
  fill(into, keys, of) {
    for (const key of keys) {
      const pattern = this.pattern(of(key));
      if (pattern !== derived(this[into], key)) this[into][key] = pattern;
    }
  }
  // joins are what stands between date and time: of the kinds of date in the order full, long, medium, short,
  // first those asked for by fields, then those asked for by style.
  joins() {
    const between = (o) => {
      const both = this.pattern(o);
      const clock = this.pattern(o.timeStyle ? { timeStyle: o.timeStyle } : { hour: "numeric", minute: "numeric" });
      const day = this.pattern(o.dateStyle ? { dateStyle: o.dateStyle } : o.date);
      if (!both.startsWith(day) || !both.endsWith(clock)) throw new Error(`${this.name}: ${both} is not ${day} and ${clock}`);
      return both.slice(day.length, both.length - clock.length);
    };
    this.fieldJoins = ["lnln", "-nln", "-nsn", "-nnn"].map((key) => between({ ...date(key), date: date(key), hour: "numeric", minute: "numeric" }));
    this.styleJoins = ["full", "long", "medium"].map((dateStyle) => between({ dateStyle, timeStyle: "short" }));
    const short = this.pattern({ dateStyle: "short", timeStyle: "short" }), day = this.dateStyles.short;
    this.styleJoins.push(short.slice(day.length, short.length - this.pattern({ timeStyle: "short" }).length));
  }
  numbers() {
    const parts = (x, o) => new Intl.NumberFormat(this.name, o).formatToParts(x);
    const one = (x, type, o) => parts(x, o).find((p) => p.type === type)?.value;
    const shape = (x, o) => parts(x, o).map((p) => p.type === "minusSign" ? "-" : p.type === "currency" ? "¤" :
      p.type === "integer" ? "0" : p.value).join("");
    const money = { style: "currency", currency: "XTS", maximumFractionDigits: 0, currencyDisplay: "code" };
    Object.assign(this, {
      decimal: one(1.5, "decimal"), group: one(1234567, "group"), minus: one(-1, "minusSign"), plus: one(1, "plusSign", { signDisplay: "always" }),
      infinity: one(Infinity, "infinity"), nan: one(NaN, "nan"), grouped: one(1234, "group") === undefined ? 5 : 4,
      percent: shape(0.01, { style: "percent" }), percentSign: one(0.01, "percentSign", { style: "percent" }),
    });
    // A symbol keeps a distance from the digits if it ends in a letter, as XTS does and £ does not.
    const pound = { style: "currency", currency: "GBP", currencyDisplay: "narrowSymbol", maximumFractionDigits: 0 };
    this.money = { decimal: one(1.5, "decimal", { style: "currency", currency: "EUR" }), group: one(1234567, "group", { style: "currency", currency: "EUR" }),
      plain: shape(1, pound), minus: shape(-1, pound),
      letters: shape(1, money), lettersMinus: shape(-1, money) };
    this.currencies = Object.fromEntries(currencies.map((currency) => [currency, ["symbol", "narrowSymbol"].map((currencyDisplay) =>
      one(1, "currency", { style: "currency", currency, currencyDisplay }))]).filter(([c, [s, n]]) => c !== s || c !== n));
  }
}

// derived is the pattern of a key: its own, or the plain one, widened where two digits were asked for.
function derived(patterns, key) {
  let pattern = patterns[key] ?? patterns[plain(key)];
  if (pattern === undefined || key in patterns) return pattern;
  const fields = key.length === 4 ? "-ymd" : "his".padStart(key.length - 2);
  [...fields].forEach((field, i) => {
    if (key[i] === "2") pattern = pattern.replace(`{${field}}`, field === "y" ? "{y2}" : `{${field.toUpperCase()}}`);
  });
  return pattern;
}

const digits = Object.fromEntries(currencies.map((c) => [c, new Intl.NumberFormat("en", { style: "currency", currency: c }).resolvedOptions().maximumFractionDigits]));
const lines = locales.map((name) => JSON.stringify(new Locale(name)));
console.log(`{"currencies":${JSON.stringify(digits)},"names":${JSON.stringify(locales)},"locales":[\n${lines.join(",\n")}\n]}`);
