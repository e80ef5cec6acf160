package worker

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/sandbox"
)

// TestR13_ReturnedValues: what comes back is JSON, undefined is no value, null is one.
func TestR13_ReturnedValues(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		``:                     "",
		`return undefined`:     "",
		`return null`:          "null",
		`return 0`:             "0",
		`return -1.5e-7`:       "-1.5e-7",
		`return 1e21`:          "1e+21",
		`return NaN`:           "null",
		`return true`:          "true",
		`return "a<b\"\u2028"`: `"a<b\"\u2028"`,
		`return {a: [1, {b: null}], u: undefined}`:                                  `{"a":[1,{"b":null}]}`,
		`return new Date(0)`:                                                        `"1970-01-01T00:00:00.000Z"`,
		`return Promise.resolve({x: 1})`:                                            `{"x":1}`,
		`return { then(f) { f(7) } }`:                                               "7",
		`return JSON.parse('{"__proto__": 1}')`:                                     `{"__proto__":1}`,
		`JSON.stringify = JSON.parse = () => 1; Promise.resolve = null; return {a}`: `{"a":{"n":1}}`,
	} {
		call := invocationOf(sandbox.Producer, body)
		call.State = json.RawMessage(`{"n":1}`)
		r, err := newExecutor(t).Invoke(t.Context(), call, world)
		if err != nil {
			t.Errorf("%s: %v", body, err)
		} else if string(r.Value) != want || want == "" && r.Value != nil {
			t.Errorf("%s: got %s, want %s", body, r.Value, want)
		}
	}
	for _, body := range []string{
		`return () => 1`, `return Symbol("x")`, `return 1n`, `return {x: 1n}`, `const x = []; x.push(x); return x`,
		`return { get x() { throw 1 } }`, `return { toJSON() { throw new Error("no") } }`, `return class {}`,
		`return new Proxy({}, { ownKeys() { throw Object.create(null) } })`,
	} {
		_, err := runBody(t, sandbox.Producer, body)
		wantFault(t, err, sandbox.FaultScript, "script.result")
	}
}

// TestArguments: each phase gets what its signature says, and a script that changes it changes
// nothing for the next call.
func TestArguments(t *testing.T) {
	t.Parallel()
	e := newExecutor(t)
	for phase, want := range map[sandbox.Phase]string{
		sandbox.Prepare: `[{"s":1},null]`,
		sandbox.Next:    `[{"reservations":[],"data":{"x":1}},{"status":"none"}]`,
	} {
		for range 2 {
			call := invocationOf(phase, `const r = JSON.stringify([a, b]); Object.prototype.polluted = 1; `+
				`globalThis.counter = (globalThis.counter ?? 0) + 1; if (a) a.x = 5; return `+
				`JSON.parse(r).concat(counter)`)
			call.State = json.RawMessage(`{"s":1}`)
			r, err := e.Invoke(t.Context(), call, world)
			if err != nil || string(r.Value) != strings.TrimSuffix(want, "]")+",1]" {
				t.Errorf("%s: %s, %v", phase, r.Value, err)
			}
		}
	}
	r := succeed(t, sandbox.Producer, `return [typeof a, arguments.length]`)
	if string(r.Value) != `["undefined",2]` {
		t.Errorf("without state: %s", r.Value)
	}
	call := invocationOf(sandbox.Prepare, `return 1`)
	call.State = json.RawMessage(`{`)
	_, err := e.Invoke(t.Context(), call, world)
	wantFault(t, err, sandbox.FaultInternal, "internal")
}

// TestThrownValues: whatever is thrown is described, and nothing panics.
func TestThrownValues(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"\n\nthrow new Error('boom')":         "Error: boom",
		`throw new TypeError("bad")`:          "TypeError: bad",
		`null.x`:                              "TypeError",
		`a.b.c`:                               "TypeError",
		`throw "text"`:                        "threw text",
		"`${{ toString: 1 }}`":                "TypeError: Could not convert the object to primitive",
		`throw undefined`:                     "threw undefined",
		`throw null`:                          "threw null",
		`throw 5`:                             "threw 5",
		`throw 10n`:                           "threw 10",
		`throw Symbol("s")`:                   "threw",
		`throw { code: 7 }`:                   `threw an object {"code":7}`,
		`throw Object.create(null)`:           "threw an object",
		`throw { get message() { throw 1 } }`: "threw an object that cannot be described",
		`throw { message: { toString() { ` +
			`throw 1 } } }`: "threw an object",
		`const e = new Error("x"); Object.defineProperty(e, "stack", { get() { throw 1 } ` +
			`}); throw e`: "Error: x",
		`throw new Proxy({}, { get() { throw new ` +
			`Error("trap") } })`: "threw an object that cannot be described",
		`const r = Proxy.revocable({}, {}); r.revoke(); ` +
			`throw r.proxy`: "threw an object that cannot be described",
		`return Promise.reject(new Error("rejected"))`:    "Error: rejected",
		`return { then(_, no) { no("thenable") } }`:       "threw thenable",
		`throw new Error("x".repeat(100000))`:             "Error: xxx",
		`Promise.reject(new Error("floating")); return 1`: "a promise that was not awaited failed: Error: floating",
		`(async () => { throw new Error("lost") ` +
			`})(); return 1`: "not awaited failed: Error: lost",
		`throw new AggregateError([1], "many")`: "AggregateError: many",
		`class Mine extends Error { constructor(m) { super(m); this.name = "Mine" } } throw new ` +
			`Mine("own")`: "Mine: own",
	} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			r, err := runBody(t, sandbox.Prepare, body)
			e := wantFault(t, err, sandbox.FaultScript, "script.threw")
			wantContains(t, e.Message, want)
			if len(e.Message) > sandbox.MaxMessage+10 || len(e.Stack) > sandbox.MaxStackText+10 || r.Value != nil {
				t.Errorf("message of %d bytes, stack of %d, result %+v", len(e.Message), len(e.Stack), r)
			}
		})
	}
	_, err := runBody(t, sandbox.Prepare, "\n  const f = () => {\n    throw new Error('deep') };\n  f();")
	e := wantFault(t, err, sandbox.FaultScript, "script.threw")
	if e.Line != 3 || e.Column != 11 {
		t.Errorf("at %d:%d", e.Line, e.Column)
	}
	wantContains(t, e.Stack, "flow.ts:3:11)", "flow.ts:4:3)")
	if strings.Contains(e.Stack, "native") || strings.Contains(e.Stack, "pawl") {
		t.Errorf("stack shows the inside: %s", e.Stack)
	}
	// A handled rejection is no failure.
	succeed(t, sandbox.Prepare, `const p = Promise.reject(new Error("x")); await null; await p.catch(() => `+
		`{}); return 1`)
}

// TestInterpreterPanics: native code of the interpreter that panics in Go is a fault, not a crash.
func TestInterpreterPanics(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`try { BigInt.asUintN(2 ** 53 - 1, -1n) } catch {} return 1`,
		`try { "abc".repeat(2 ** 62) } catch {} return 1`,
		`try { "x".padStart(2 ** 53) } catch {} return 1`,
	} {
		_, err := runBody(t, sandbox.Prepare, body)
		if err != nil {
			wantFault(t, err, sandbox.FaultScript, "script.crashed")
		}
	}
	_, err := runBody(t, sandbox.Prepare, `try { BigInt.asUintN(2 ** 53 - 1, -1n) } catch {} return 1`)
	wantFault(t, err, sandbox.FaultScript, "script.crashed")
}

// TestPending: a handler that waits for nothing ends at once instead of hanging.
func TestPending(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`await new Promise(() => {})`, `await ctx.mail.search({}); return { then() {} }`} {
		_, err := runBody(t, sandbox.Prepare, body)
		wantFault(t, err, sandbox.FaultScript, "script.pending")
	}
}

// TestClockAndChance: time and randomness come from the invocation.
func TestClockAndChance(t *testing.T) {
	t.Parallel()
	const body = `return [new Date().toISOString().slice(0, 16), new Date(ctx.now()).toISOString().slice(0, 16), ` +
		`Date.now() >= ctx.now() - 1000, Math.random(), crypto.randomUUID(), new Date().getTimezoneOffset()]`
	first, second := succeed(t, sandbox.Prepare, body), succeed(t, sandbox.Prepare, body)
	if string(first.Value) != string(second.Value) {
		t.Errorf("%s\n%s", first.Value, second.Value)
	}
	wantContains(t, string(first.Value), `["2026-01-02T03:04","2026-01-02T03:04",true,0.`)
	call := invocationOf(sandbox.Prepare, body)
	call.Seed = 8
	other, err := newExecutor(t).Invoke(t.Context(), call, world)
	if err != nil || string(other.Value) == string(first.Value) {
		t.Errorf("another seed gave the same: %s, %v", other.Value, err)
	}
	call = invocationOf(sandbox.Prepare, `return ctx.now()`)
	call.Now = time.Time{}
	for name, e := range executors(t) {
		r, err := e.Invoke(t.Context(), call, world)
		var now int64
		if err != nil || json.Unmarshal(r.Value, &now) != nil || time.Since(time.UnixMilli(now)).Abs() > time.Minute {
			t.Errorf("real time %s: %s, %v", name, r.Value, err)
		}
	}
}

// S2: a producer sees the time that its schedule asked for, however late it runs.
func TestS2_ScheduledAt(t *testing.T) {
	t.Parallel()
	call := invocationOf(sandbox.Producer, `return ctx.scheduledAt`)
	for name, e := range executors(t) {
		call.ScheduledAt = time.Time{}
		if r, err := e.Invoke(t.Context(), call, world); err != nil || string(r.Value) != `"2026-01-02T03:04:05.000Z"` {
			t.Errorf("%s without a schedule: %s, %v", name, r.Value, err)
		}
		call.ScheduledAt = call.Now.Add(-time.Hour)
		if r, err := e.Invoke(t.Context(), call, world); err != nil || string(r.Value) != `"2026-01-02T02:04:05.000Z"` {
			t.Errorf("%s: %s, %v", name, r.Value, err)
		}
	}
}

// TestHash: the digests of FIPS 180 for "abc", of a text as of its bytes, and no others.
func TestHash(t *testing.T) {
	t.Parallel()
	r := succeed(t, sandbox.Mutate, `
		const bytes = new TextEncoder().encode("abc");
		const all = [ctx.hash("sha256", "abc"), ctx.hash("sha1", "abc"), ctx.hash("sha512", "abc").slice(0, 16),
			ctx.hash("sha256", bytes), ctx.hash("sha256", bytes.buffer), ctx.hash("sha256", "ä") ===
			 ctx.hash("sha256", new TextEncoder().encode("ä"))];
		await ctx.mail.send({ all });`)
	const sum = `"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"`
	const want = `{"all":[` + sum + `,"a9993e364706816aba3e25717850c26c9cd0d89d","ddaf35a193617aba",` + sum + `,` + sum +
		`,true]}`
	if got := string(r.Call.Params); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for body, says := range map[string]string{
		`ctx.hash("md5", "abc")`:            `"sha256", "sha512" and "sha1"`,
		`ctx.hash("sha256")`:                "a text",
		`ctx.hash("sha256", { a: 1 })`:      "JSON.stringify",
		`try { ctx.hash(1, "a") } catch {}`: "algorithm",
	} {
		_, err := runBody(t, sandbox.Next, body)
		wantContains(t, wantFault(t, err, sandbox.FaultScript, "call.params").Message, says)
	}
}

// TestLogs: log and console write what a person can read, in order, with the level; also when the
// handler fails afterwards.
func TestLogs(t *testing.T) {
	t.Parallel()
	r, err := runBody(t, sandbox.Next, `ctx.log("a", 1, {x: [true]}, null, undefined);
		console.warn(new TypeError("bad")); console.error(() => 1, Symbol("s"), { get x() { throw 1 } }); console.debug(Promise.resolve());
		const c = {}; c.c = c; console.info(c); [1, 2].map(console.log); throw new Error("end")`)
	wantFault(t, err, sandbox.FaultScript, "script.threw")
	want := []struct {
		level, text string
		line        int
	}{
		{"info", `a 1 {"x":[true]} null undefined`, 1},
		{"warn", "TypeError: bad\nat h.next (flow.ts:2:16)", 2},
		{"error", "[function] Symbol(s) [object that cannot be shown]", 2},
		{"debug", "[promise: write await before it]", 2},
		{"info", "[object that cannot be shown]", 3},
		{"info", "1 0 [1,2]", 3}, {"info", "2 1 [1,2]", 3},
	}
	if len(r.Logs) != len(want) {
		t.Fatalf("logs %+v", r.Logs)
	}
	for i, w := range want {
		l := r.Logs[i]
		if l.Level != w.level || (l.Text != w.text && i != 1) || l.At.Year() != 2026 || l.Line != w.line {
			t.Errorf("%d: %+v, want %+v", i, l, w)
		}
	}
	wantContains(t, r.Logs[1].Text, "TypeError: bad\nat ", "(flow.ts:2:16)")
}

// TestLanguage: what the interpreter lacks or gets wrong works, or says how to do it otherwise.
func TestLanguage(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`return /^\p{L}+$/u.test("Grüße") && !/^\p{L}+$/u.test("1") && new RegExp("\\p{Lu}", "u").test("Ä") && ` +
			`/\P{L}/u.exec("a1")[0] === "1"`: "true",
		`const r = /(?<w>\p{L}+)/gu; return ["ab cd".replace(r, "<$<w>>"), r instanceof RegExp, ` +
			`"é,ü".split(/[^\p{L}]/u), [..."é,ü".matchAll(/\p{L}/gu)].map((m) => m[0])]`: `["<ab> <cd>",true,["é","ü"],` +
			`["é","ü"]]`,
		`const t = "a: 1\r\nb: 2\r\n\r\n"; return [t.match(/^a: (.*)$/m)[1], t.match(/^.+$/gm), t.search(/^$/m), ` +
			`new RegExp("^b: (\\d)$", "m").exec(t)[1], RegExp("1$", "m").test(t), /1$/.test("1\r\n"), ` +
			`[..."a\nb".matchAll(/^(.)$/gm)].map((m) => m[1])]`: `["1",["a: 1","b: 2"],5,"2",true,false,["a","b"]]`,
		`async function* g() { yield 1; yield 2 } let s = 0; for await (const x of g()) s += ` +
			`x; return s`: "3",
		`const o = {d: new Date(5), m: new Map([[1, {a: 1}]]), s: new Set([1])}; o.self = o; const c = ` +
			`structuredClone(o); return [c.self === c, c.d.getTime(), c.m.get(1).a, c.m.get(1) !== o.m.get(1), ` +
			`c.s.has(1)]`: "[true,5,1,true,true]",
		`try { structuredClone(() => 1) } catch (e) { ` +
			`return e.name }`: `"TypeError"`,
		`return new TextDecoder().decode(new ` +
			`TextEncoder().encode("aé€😀"))`: `"aé€😀"`,
		`return Array.from(new TextEncoder().encode("é"))`: "[195,169]",
		`try { new TextDecoder("utf-8", {fatal: true}).decode(new Uint8Array([255])) } catch (e) { ` +
			`return e.name }`: `"TypeError"`,
		`return [btoa("a\xff"), atob("Yf8=") === "a\xff", atob(" ` +
			`Y Q = = ")]`: `["Yf8=",true,"a"]`,
		`return Object.groupBy([1, 2, 3], (x) => x % 2 ? ` +
			`"odd" : "even")`: `{"odd":[1,3],"even":[2]}`,
		`return Map.groupBy([1, 2, 3], (x) => x % 2).get(1)`:                               "[1,3]",
		`const { promise, resolve } = Promise.withResolvers(); resolve(4); return promise`: "4",
		`return Promise.try(() => 5)`:                                                      "5",
		`return typeof module + typeof process + typeof fetch + typeof setTimeout + ` +
			`typeof GoError`: `"undefinedundefinedundefinedundefinedundefined"`,
		`enum E { A = 2 } interface I { x: number } const v = { x: E.A } satisfies I; return v.x as number`: "2",
		`return new Function("return 1\n//# sourceMappingURL=file:///etc/passwd")()`:                        "1",
		`return Object.keys(ctx).join()`: `"peek,getByIds,publish,registerInput,log,now,hash,scheduledAt,vars,mail,sheets"`,
		`return ["mail" in ctx, "fax" in ctx, Object.keys(ctx.sheets), String(ctx), ` +
			`JSON.stringify(ctx.mail)]`: `[true,false,["appendRow"],"[object Object]","{}"]`,
		`try { ctx.peek = 1 } catch (e) { return e.name }`: `"TypeError"`,
		`return (await (async () => ctx)()) === ctx`:       "true",
	} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			if r := succeed(t, sandbox.Prepare, body); string(r.Value) != want {
				t.Errorf("got %s, want %s", r.Value, want)
			}
		})
	}
}

// TestUnknownMembers: a wrong name is answered with the right ones.
func TestUnknownMembers(t *testing.T) {
	t.Parallel()
	_, err := runBody(t, sandbox.Prepare, "\nawait ctx.gmail.search({})")
	e := wantFault(t, err, sandbox.FaultScript, "connector.unknown")
	wantContains(t, e.Message, "ctx.gmail does not exist", "mail, sheets")
	if e.Line != 2 {
		t.Errorf("line %d", e.Line)
	}
	_, err = runBody(t, sandbox.Prepare, "\nawait ctx.mail.find({})")
	wantContains(t, wantFault(t, err, sandbox.FaultScript, "operation.unknown").Message, "ctx.mail.find does not exist",
		"search, get, broken")
	call := invocationOf(sandbox.Prepare, `return 1`)
	call.Handler = "gone"
	_, err = newExecutor(t).Invoke(t.Context(), call, world)
	wantContains(t, wantFault(t, err, sandbox.FaultScript, "handler.unknown").Message, `prepare of consumer "gone"`)
}

// TestParametersReachTheHost exactly as JSON.
func TestParametersReachTheHost(t *testing.T) {
	t.Parallel()
	host := fakeHost{"mail.get": func(_ context.Context, params json.RawMessage) (json.RawMessage, error) {
		return params, nil
	}}
	r, err := newExecutor(t).Invoke(t.Context(), invocationOf(sandbox.Producer,
		`return [await ctx.mail.get({a: "ü\n", n: 1.5}), await ctx.mail.get()]`), host)
	if err != nil || string(r.Value) != `[{"a":"ü\n","n":1.5},{}]` {
		t.Errorf("%s, %v", r.Value, err)
	}
}
