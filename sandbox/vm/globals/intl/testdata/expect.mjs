// Writes what Node makes of many formats, one per line: node expect.mjs [SEED COUNT] > expected.jsonl
const [seed, count] = process.argv.slice(2).map(Number);
const random = ((x) => () => (x = (x * 48271) % 2147483647) / 2147483647)(seed || 20);
const pick = (list) => list[Math.floor(random() * list.length)];
const locales = ["en-US", "en-GB", "en-CA", "en-AU", "de-DE", "de-AT", "de-CH", "fr-FR", "es-ES", "it-IT", "nl-NL",
  "pt-BR", "pl-PL", "sv-SE", "da-DK", "ja-JP", "zh-CN", "de", "en", "pt"];
const currencies = ["USD", "EUR", "GBP", "JPY", "CHF", "SEK", "DKK", "NOK", "PLN", "CZK", "HUF", "CAD", "AUD", "NZD", "CNY",
  "INR", "BRL", "MXN", "ZAR", "SGD", "HKD", "KRW", "TRY", "ILS", "UAH", "AED", "RON", "THB"];
const zones = ["UTC", "UTC", "UTC", "Europe/Berlin", "Europe/London", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Tokyo", "Pacific/Chatham"];
const maybe = (odds, make) => random() < odds ? make() : undefined;
const n2 = ["numeric", "2-digit"];

function dateOptions() {
  const timeZone = pick(zones), o = { timeZone };
  o.hour12 = maybe(0.2, () => random() < 0.5);
  o.hourCycle = maybe(0.2, () => pick(["h11", "h12", "h23", "h24"]));
  if (random() < 0.3) {
    o.dateStyle = maybe(0.7, () => pick(["full", "long", "medium", "short"]));
    o.timeStyle = maybe(o.dateStyle ? 0.6 : 1, () => pick(timeZone === "UTC" ? ["full", "long", "medium", "short"] : ["medium", "short"]));
    return o;
  }
  if (random() < 0.8) Object.assign(o, { weekday: maybe(0.3, () => pick(["short", "long"])), year: maybe(0.6, () => pick(n2)),
    month: maybe(0.8, () => pick(["numeric", "2-digit", "short", "long"])), day: maybe(0.7, () => pick(n2)) });
  if (random() < 0.5) Object.assign(o, { hour: maybe(0.9, () => pick(n2)), minute: maybe(0.8, () => pick(n2)), second: maybe(0.4, () => pick(n2)) });
  if (o.hour && o.minute && o.second && (o.day || !o.weekday)) o.fractionalSecondDigits = maybe(0.3, () => pick([1, 2, 3]));
  if (o.hour || o.minute || o.second) o.timeZoneName = maybe(0.3, () => pick(["shortOffset", "longOffset", ...(timeZone === "UTC" ? ["short", "long"] : [])]));
  return o;
}

function numberOptions() {
  const o = { style: pick(["decimal", "decimal", "percent", "currency"]) };
  if (o.style === "currency") o.currency = pick(currencies), o.currencyDisplay = maybe(0.4, () => pick(["symbol", "narrowSymbol", "code"]));
  o.useGrouping = maybe(0.3, () => pick([false, "auto", "always", "min2"]));
  o.signDisplay = maybe(0.3, () => pick(["auto", "always", "never", "exceptZero", "negative"]));
  o.minimumIntegerDigits = maybe(0.1, () => pick([2, 5]));
  if (random() < 0.2) o.maximumSignificantDigits = pick([1, 2, 3, 5, 21]), o.minimumSignificantDigits = maybe(0.5, () => pick([1, o.maximumSignificantDigits]));
  else if (random() < 0.5) o.maximumFractionDigits = pick([0, 1, 2, 6, 20]), o.minimumFractionDigits = maybe(0.5, () => pick([0, o.maximumFractionDigits]));
  return o;
}
const numbers = [0, -0, 1, -1, 0.5, 1.5, 2.5, -0.4, 1.005, 0.1 + 0.2, 12, 123, 1234, -1234.5, 12345.678, 999.995, 1e6, 1234567.891, -9876543210.12, 1e21, 1.5e-7, 9007199254740993, 2 ** 0.5, NaN, Infinity, -Infinity];

// Texts of letters, marks and scripts whose order this package promises.
const alphabets = ["abcdefgABCDEFGzZyYßäöüÄÖÜéèêëñÑçåÅøØæÆœłŁśżźćńóęąÿşğıİ", " -_.,;:!?/\\'\"()[]{}@*&#%+<=>|~$€£0123abAB", "0011299ab -.",
  "абвгдежзийклмнопрстуфхцчшщъыьэюяёЁАБВαβγδΑΒΓ", "あいうえおアイウエオかがきぎ"].map((s) => [...s]);
alphabets.push([..."aäåoöøéeñn"].flatMap((c) => [c, c.normalize("NFD")]));
const texts = () => {
  const alphabet = pick(alphabets), word = () => Array.from({ length: Math.floor(random() * 5) }, () => pick(alphabet)).join("");
  const start = random() < 0.5 ? word() : "";
  return [start + word(), start + word()];
};

for (let i = 0; i < (count || 800) / 4; i++) {
  const locale = pick(locales.filter((l) => l !== "da-DK" && l !== "zh-CN"));
  const options = pick([{}, { sensitivity: "base" }, { sensitivity: "accent" }, { sensitivity: "variant" }, { numeric: true }, { numeric: true, sensitivity: "base" }]);
  const [value, other] = texts();
  console.log(JSON.stringify({ kind: "order", locale, value, other, options, text: String(Math.sign(new Intl.Collator(locale, options).compare(value, other))) }));
}
for (let i = 0; i < (count || 800) / 4; i++) {
  const locale = pick(locales), value = pick([...Array(130).keys(), 0.5, 1.5, 2.5, 1e6, 2e6, 1e9, 1000001, 800, 1.0004, 100, 1111, -1, -2]);
  const options = pick([{}, {}, { type: "ordinal" }, { minimumFractionDigits: 1 }, { maximumSignificantDigits: 1 }]);
  console.log(JSON.stringify({ kind: "plural", locale, value: String(value), options, text: new Intl.PluralRules(locale, options).select(value) }));
}
for (let i = 0; i < (count || 800); i++) {
  const locale = pick(locales);
  let kind, value, options, format;
  if (random() < 0.6) {
    kind = "date";
    value = Math.floor(pick([Date.UTC(2026, 0, 5, 3, 4, 6, 7), Date.UTC(2026, pick([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]), pick([1, 9, 10, 28, 31]), pick([0, 1, 11, 12, 13, 23]), pick([0, 9, 59]), pick([0, 5, 45]), pick([0, 9, 120, 999])),
      random() * 2e12, -random() * 1e12, 946684799999]));
    options = dateOptions();
    format = new Intl.DateTimeFormat(locale, options);
  } else {
    kind = "number";
    value = pick(numbers);
    options = numberOptions();
    format = new Intl.NumberFormat(locale, options);
  }
  const parts = format.formatToParts(value).map((p) => [p.type, p.value]);
  const resolved = kind === "date" || i % 2 ? undefined : Object.fromEntries(Object.entries(format.resolvedOptions()).map(([k, v]) => [k, String(v)]));
  console.log(JSON.stringify({ kind, locale, value: Object.is(value, -0) ? "-0" : String(value), options, text: format.format(value), parts, resolved }));
}
