package worker

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/sandbox"
)

// TestExtras: what authors are used to works as elsewhere.
func TestExtras(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, want string }{
		"dates": {`const d = new Date(0); return [d.toLocaleString("en-US"), d.toLocaleDateString("de-DE", { ` +
			`timeZone: "America/New_York" }), d.toLocaleTimeString("en-GB"), d.toLocaleDateString()]`,
			`["1/1/1970, 12:00:00 AM","31.12.1969","00:00:00","1/1/1970"]`},
		"numbers": {`return [(1234.5).toLocaleString(), (1234.5).toLocaleString("de-DE", { style: "currency", ` +
			`currency: "eur" }), 12345678901234567890n.toLocaleString("en-US"), (0).toLocaleString("en", { ` +
			`minimumFractionDigits: 2 })]`,
			`["1,234.5","1.234,50` + "\u00a0" + `€","12,345,678,901,234,567,890","0.00"]`},
		"lists": {`return [1234.5, null, new Date(0)].toLocaleString("de-DE")`, `"1.234,5,,1.1.1970, 00:00:00"`},
		"formats": {`return [Intl.NumberFormat("de").format("12345678901234567890.12"), new ` +
			`Intl.DateTimeFormat("en-US", { month: "long" }).formatToParts(0), [1, 2].map(new ` +
			`Intl.NumberFormat("en").format)]`,
			`["12.345.678.901.234.567.890,12",[{"type":"month","value":"January"}],["1","2"]]`},
		"numbers of any kind": {`const f = new Intl.NumberFormat("en").format; return [f("0x10"), f(""), f(), ` +
			`f(null), f([5]), f(" 7 "), f("x"), f(new Date(5)), f("1e5000")]`,
			`["16","0","NaN","0","5","7","NaN","5","∞"]`},
		"order": {`return [["ä", "z", "a"].sort((x, y) => x.localeCompare(y, "sv")), ["ä", "z", ` +
			`"a"].sort(new Intl.Collator("de").compare), ["a10", "a2"].sort((x, y) => x.localeCompare(y, ` +
			`undefined, { ` +
			`numeric: true })), "a".localeCompare("B"), "A".localeCompare("a")]`,
			`[["a","z","ä"],["a","ä","z"],["a2","a10"],-1,1]`},
		"plurals": {`return new Intl.PluralRules("en", { type: "ordinal" }).select(22) + new ` +
			`Intl.PluralRules("pl").resolvedOptions().pluralCategories`, `"twofew,many,one,other"`},
		"resolved options": {`const { locale, style, minimumFractionDigits, useGrouping } = new ` +
			`Intl.NumberFormat(["de"], { style: "currency", currency: "JPY", useGrouping: false ` +
			`}).resolvedOptions(); ` +
			`return [locale, style, minimumFractionDigits, useGrouping, new ` +
			`Intl.DateTimeFormat().resolvedOptions().timeZone]`, `["de","currency",0,false,"UTC"]`},
		"first known": {`return [(1.5).toLocaleString(["xx", "de"]), ` +
			`Intl.NumberFormat.supportedLocalesOf(["de", "xx"])]`, `["1,5",["de"]]`},
		"no date": {`return [new Date(NaN).toLocaleString("de"), (() => { try { new ` +
			`Intl.DateTimeFormat().format(NaN) } catch (e) { return e.name } })()]`, `["Invalid Date","RangeError"]`},
		"linked parameters": {`const u = new URL("https://a.b/?q=1"); u.searchParams.append("x y", "ä&="); ` +
			`u.searchParams.delete("q"); const first = u.href; u.search = "?k=v&k=w"; return [first, ` +
			`[...u.searchParams], u.searchParams.getAll("k"), u.searchParams.size, JSON.stringify({ u })]`,
			`["https://a.b/?x+y=%C3%A4%26%3D",[["k","v"],["k","w"]],["v","w"],2,"{\"u\":\"https://a.b/?k=v&k=w\"}"]`},
		"parameters": {`const p = new URLSearchParams("?c=3&a=1&b=2&a=0"); p.sort(); const sorted = String(p); ` +
			`p.set("a", "9"); p.delete("b", "3"); const all = []; p.forEach((v, k) => all.push(k + v)); return ` +
			`[sorted, all, p.has("b", "2"), p.has("b", "3"), p.get("none"), Object.fromEntries(p), [...p.keys()], ` +
			`[...p.values()]]`,
			`["a=1&a=0&b=2&c=3",["a9","b2","c3"],true,false,null,{"a":"9","b":"2","c":"3"},["a","b","c"],["9","2","3"]]`},
		"parameters of": {`return [{ a: 1, b: "x y" }, [["a", "1"], ["a", "2"]], new URLSearchParams("z=1"), ` +
			`"a=%F0%9F%98%80&b=%ff%e2%82"].map((x) => new URLSearchParams(x)).map((p) => p.get("b") ?? String(p))`,
			`["x y","a=1\u0026a=2","z=1","��"]`},
		"no URL": {`try { new URL("nope") } catch (e) { return [e.name, e.code, URL.canParse("x"), ` +
			`URL.canParse("x", "http://a"), URL.parse("x")] }`, `["TypeError","ERR_INVALID_URL",false,true,null]`},
		"a URL is no clone": {`try { structuredClone({ u: new URL("http://a") }) } catch (e) { return e.name }`,
			`"TypeError"`},
		"iterator helpers": {`return [[1, 2, 3, 4].values().map((x) => x * 2).filter((x) => x > ` +
			`2).drop(1).take(2).toArray(), new Map([["a", 1]]).entries().some(([k]) => k === "a"), Iterator.from({ ` +
			`next() { return { done: true } } }).toArray(), [1, 2].values().reduce((x, y) => x + y), [[1], ` +
			`[2]].values().flatMap((x) => x).find((x) => x > 1)]`, `[[6,8],true,[],3,2]`},
		"iterators are closed": {`let closed = 0; function* g() { try { yield 1; yield 2 } finally { closed++ } } ` +
			`g().take(1).toArray(); g().find(() => true); g().some(() => true); return closed`, "3"},
		"arrays of promises": {`async function* g() { yield 1; yield 2 } return [await Array.fromAsync(g()), await ` +
			`Array.fromAsync([Promise.resolve(1), 2], async (x) => x * 2), await Array.fromAsync({ length: 1, 0: 7 })]`,
			`[[1,2],[2,4],[7]]`},
		"asynchronous iterator": {`const o = { async *[Symbol.asyncIterator]() { yield 1; yield 2 } }; const all = ` +
			`[]; for await (const x of o) all.push(x); return all`, "[1,2]"},
		"using": {`const all = []; { using x = { [Symbol.dispose]() { all.push("closed") } }; ` +
			`all.push("open") } return all`, `["open","closed"]`},
		"well-formed": {`return ["a\ud800".isWellFormed(), "a😀".isWellFormed(), "\udc00b".toWellFormed() ` +
			`=== "\ufffdb"]`, "[false,true,true]"},
		"captureStackTrace": {`class Own extends Error { constructor(m) { super(m); Error.captureStackTrace(this, ` +
			`Own); this.name = "Own" } } try { throw new Own("x") } catch (e) { return [e.name, e instanceof Own, ` +
			`e.stack.includes("flow.ts")] }`, `["Own",true,true]`},
		"microtasks": {`const all = []; queueMicrotask(() => all.push(2)); all.push(1); await 0; return all`,
			"[1,2]"},
		"replaced globals": {`globalThis.URL = 5; globalThis.Intl = 6; return [URL, Intl]`, "[5,6]"},
		"broken bytes": {`return Array.from(new TextDecoder().decode(new Uint8Array([97, 0xff, 0xfe, 0xe2, 0x82, ` +
			`98])), (c) => c.codePointAt(0))`, "[97,65533,65533,65533,98]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := strings.ReplaceAll(c.want, `\u0026`, "&")
			if r := succeed(t, sandbox.Prepare, c.body); string(r.Value) != want {
				t.Errorf("%s:\ngot  %s\nwant %s", c.body, r.Value, want)
			}
		})
	}
}

// TestExtrasRefuse: what is not known is an error that says what is.
func TestExtrasRefuse(t *testing.T) {
	t.Parallel()
	for body, parts := range map[string][]string{
		`(1).toLocaleString("xx")`: {"RangeError",
			`"xx" is not supported here`, "en-US, en-GB", "de-DE"},
		`(1).toLocaleString("en_US")`: {"RangeError",
			"not the tag of a locale"},
		`new Date().toLocaleString("ar-EG-u-nu-latn")`: {"RangeError",
			"not supported here"},
		`new Date().toLocaleString("en", { timeZone: "Mars/Olympus" })`: {"RangeError",
			`"Mars/Olympus"`, "Europe/Berlin"},
		`new Date().toLocaleString("en", { timeZone: "Local" })`: {"RangeError", `"Local"`},
		`new Date().toLocaleString("en", { timeZone: "" })`: {"RangeError",
			"time zone"},
		`new Date().toLocaleDateString("en", { era: "long" })`: {"RangeError",
			"option era"},
		`new Date().toLocaleDateString("en", { month: "narrow" })`: {"RangeError", "month",
			`"short"`},
		`new Date().toLocaleDateString("en", { calendar: "buddhist" })`: {"RangeError", "calendar",
			`"gregory"`},
		`new Date().toLocaleTimeString("en", { timeStyle: "full", timeZone: "Asia/Tokyo" })`: {"RangeError",
			"shortOffset"},
		`new Date().toLocaleString("en", { dateStyle: "full", month: "long" })`: {"TypeError", "dateStyle"},
		`(1).toLocaleString("en", { style: "currency" })`:                       {"TypeError", "currency"},
		`(1).toLocaleString("en", { style: "currency", currency: "ZZZ" })`:      {"RangeError", `"ZZZ"`, "EUR", "USD"},
		`(1).toLocaleString("en", { style: "unit", unit: "liter" })`:            {"RangeError", "unit"},
		`(1).toLocaleString("en", { notation: "compact" })`: {"RangeError", "notation",
			`"standard"`},
		`(1).toLocaleString("en", { maximumFractionDigits: 200 })`:   {"RangeError", "maximumFractionDigits", "20"},
		`(1).toLocaleString("en", null)`:                             {"TypeError"},
		`"a".localeCompare("b", "zh-CN")`:                            {"RangeError", "zh-CN"},
		`"i".toLocaleUpperCase("tr")`:                                {"RangeError", "tr"},
		`new Intl.ListFormat("en")`:                                  {"TypeError", "Intl.ListFormat", "join"},
		`Intl.PluralRules("en")`:                                     {"TypeError", "new"},
		`return Intl.NumberFormat.prototype.format`:                  {"TypeError"},
		`new URL("x".repeat(2e6))`:                                   {"TypeError", "1048576"},
		`URL("http://x")`:                                            {"TypeError"},
		`return URL.prototype.href`:                                  {"TypeError"},
		`queueMicrotask(() => { throw new Error("late") }); await 0`: {"Error: late"},
		`queueMicrotask(5)`:                                          {"TypeError"},
		`[].values().map(5)`:                                         {"TypeError", "map"},
		`fetch("https://x")`:                                         {"ReferenceError", "ctx.http.get"},
	} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			_, err := runBody(t, sandbox.Prepare, body)
			wantContains(t, wantFault(t, err, sandbox.FaultScript, "script.threw").Message, parts...)
		})
	}
}
