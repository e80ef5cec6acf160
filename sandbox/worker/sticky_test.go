package worker

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/pawl-run/pawl/sandbox"
)

// TestR7_HostErrorsAreSticky tries every way to get round every kind of host error.
func TestR7_HostErrorsAreSticky(t *testing.T) {
	t.Parallel()
	errs := []struct {
		name, call string
		fault      sandbox.Fault
		code       string
	}{
		{"failed read", `ctx.mail.broken({})`, sandbox.FaultRead, "read.failed"},
		{"forbidden", `ctx.mail.send({})`, sandbox.FaultScript, "phase.forbidden"},
		{"unknown topic", `ctx.publish("nope", {messageId: "1", title: "t"})`, sandbox.FaultScript, "topic.unknown"},
		{"bad publish", `ctx.publish("t.a", {title: "t"})`, sandbox.FaultScript, "publish.invalid"},
		{"bad params", `ctx.mail.search(5)`, sandbox.FaultScript, "call.params"},
		{"unknown connector", `ctx.fax.send({})`, sandbox.FaultScript, "connector.unknown"},
		{"unknown operation", `ctx.mail.fax({})`, sandbox.FaultScript, "operation.unknown"},
		{"too many calls", `(() => { for (let i = 0; i < 2000; i++) ctx.publish("t.a", {messageId: "1", ` +
			`title: "t"}) })()`, sandbox.FaultScript, "limit.hostCalls"},
		{"bad input", `ctx.registerInput({source: "s"})`, sandbox.FaultScript, "input.invalid"},
	}
	// after is published by any code that goes on after the error.
	const after = `ctx.publish("t.b", {messageId: "after", title: "After"})`
	shapes := map[string]string{
		"plain":      `await CALL;`,
		"try":        `try { await CALL } catch (e) { AFTER } finally { AFTER } AFTER; return 1;`,
		"swallowed":  `try { await CALL } catch {} return 1;`,
		"catch":      `await Promise.resolve().then(() => CALL).catch(() => AFTER); return 1;`,
		"then":       `return await Promise.resolve().then(() => CALL).then(() => 1, () => { AFTER; return 1 });`,
		"allSettled": `await Promise.allSettled([(async () => CALL)(), Promise.resolve(1)]); AFTER; return 1;`,
		"any": `await Promise.any([(async () => CALL)(), new Promise((r) => { ctx.mail.search({}).then(() ` +
			`=> ctx.mail.search({})).then(() => ctx.mail.search({})).then(r) })]); return 1;`,
		"race":            `await Promise.race([(async () => CALL)(), 1]); return 1;`,
		"not awaited":     `(async () => CALL)(); return 1;`,
		"not awaited try": `(async () => { try { await CALL } catch {} })(); return 1;`,
		"late":            `ctx.mail.search({}).then(() => CALL).catch(() => {}); return 1;`,
		"finally return":  `try { await CALL } finally { return 1 }`,
		"return in loop": `for (const x of [1, 2]) { try { await CALL } catch { continue } finally { if (x == 1) ` +
			`continue; } } return 1;`,
		"native callback": `try { [1].forEach(() => CALL) } catch {} return 1;`,
		"getter":          `try { ({ get x() { CALL; return 1 } }).x } catch {} return 1;`,
		"toString":        "try { `${{ toString() { CALL; return '' } }}` } catch {} return 1;",
		"toJSON":          `try { JSON.stringify({ toJSON() { CALL; return 1 } }) } catch {} return 1;`,
		"iterator return": `const it = { [Symbol.iterator]() { return { next() { return { value: 1 } }, return() { AFTER; return {} } } } };
			try { for (const x of it) { CALL; break } } catch {} return 1;`,
		"iterator endless": `const it = { [Symbol.iterator]() { return { next() { return { value: 1 } }, return() { for (;;) {} } } } };
			try { for (const x of it) { await CALL } } catch {} return 1;`,
		"generator": `function* g() { try { CALL; yield 1 } finally { AFTER } } try { [...g()] } catch ` +
			`{} return 1;`,
		"in the result": `return { toJSON() { try { CALL } catch {} return 1 } }`,
		"in the getter": `return { get x() { try { CALL } catch {} return 1 } }`,
		"thenable":      `try { await { then(r) { CALL; r(1) } } } catch {} return 1;`,
		"proxy":         `try { new Proxy({}, { get() { CALL; return 1 } }).x } catch {} return 1;`,
		"eval": "try { new Function('f', 'try { f() } catch {} finally { f() }')(() => CALL) } catch " +
			"{} return 1;",
		"reaction": `new Promise((r) => r(1)).then(() => CALL).finally(() => AFTER); return 1;`,
	}
	for _, e := range errs {
		for name, shape := range shapes {
			t.Run(fmt.Sprintf("%s/%s", e.name, name), func(t *testing.T) {
				t.Parallel()
				r, err := runBody(t, sandbox.Producer, expand(shape, e.call, after))
				f := wantFault(t, err, e.fault, e.code)
				if len(r.Publishes) != 0 || r.Value != nil {
					t.Errorf("left %+v visible", r)
				}
				if e.fault == sandbox.FaultRead && f.Unwrap() != errTool {
					t.Errorf("cause %v is not the host's own error", f.Unwrap())
				}
				if f.Line == 0 && name != "eval" {
					t.Errorf("%v: no line", f)
				}
			})
		}
	}
}

func expand(shape, call, after string) string {
	out := ""
	for i := 0; i < len(shape); i++ {
		switch {
		case len(shape)-i >= 4 && shape[i:i+4] == "CALL":
			out, i = out+call, i+3
		case len(shape)-i >= 5 && shape[i:i+5] == "AFTER":
			out, i = out+after, i+4
		default:
			out += shape[i : i+1]
		}
	}
	return out
}

// TestR4_FirstMutationCallTakesOver: nothing of the script runs after it, and nothing after it is
// punished.
func TestR4_FirstMutationCallTakesOver(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"plain":       `await ctx.mail.send({n: 1}); console.log("after");`,
		"not awaited": `ctx.mail.send({n: 1}); console.log("after");`,
		"second call": `await ctx.mail.send({n: 1}); await ctx.mail.send({n: 2});`,
		"finally": `try { await ctx.mail.send({n: 1}) } finally { console.log("after"); await ` +
			`ctx.mail.send({n: 2}) }`,
		"catch": `try { await ctx.mail.send({n: 1}) } catch { console.log("after"); throw new Error("x") }`,
		"parallel": `await Promise.all([ctx.mail.send({n: 1}), ctx.sheets.appendRow({n: 2}), (async () => ` +
			`console.log("after"))()]);`,
		"branch first": `await Promise.all([(async () => { await null; ctx.mail.send({n: 1}) })(), (async () => { ` +
			`await null; await null; console.log("after") })()]);`,
		"forbidden": `ctx.mail.send({n: 1}); await ctx.peek("t.a");`,
		"publish":   `ctx.mail.send({n: 1}); await ctx.publish("t.a", {});`,
		"throws":    `ctx.mail.send({n: 1}); throw new Error("after");`,
		"endless":   `ctx.mail.send({n: 1}); for (;;) {}`,
		"then":      `return Promise.resolve({n: 1}).then(ctx.mail.send).finally(() => console.log("after"));`,
		"callback":  `[{n: 1}, {n: 2}].forEach((x) => ctx.mail.send(x));`,
		"iterator": `const it = { [Symbol.iterator]() { return { next() { return { value: 1 } }, return() { ` +
			`console.log("after"); return {} } } } }; for (const x of it) { ctx.mail.send({n: 1}) }`,
		"iterator endless": `const it = { [Symbol.iterator]() { return { next() { return { value: 1 } }, return() { ` +
			`for (;;) {} } } } }; for (const x of it) { ctx.mail.send({n: 1}) }`,
		"generator": `function* g() { try { ctx.mail.send({n: 1}); yield } finally { console.log("after") } } for ` +
			`(const x of g()) console.log("after");`,
		"inner call":   `ctx.mail.send({ get x() { return ctx.mail.send({n: 1}) } }); console.log("after")`,
		"inner toJSON": `ctx.sheets.appendRow({ toJSON() { ctx.mail.send({n: 1}); return {n: 2} } })`,
		"array from":   `Array.from({length: 2}, () => ctx.mail.send({n: 1})); console.log("after")`,
		"destructured": `const { send } = ctx.mail; send({n: 1}); console.log("after")`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := succeed(t, sandbox.Mutate, body)
			if r.Call == nil || r.Call.Connector != "mail" || r.Call.Operation != "send" ||
				string(r.Call.Params) != `{"n":1}` {
				t.Errorf("took %+v", r.Call)
			}
			if len(r.Logs) != 0 {
				t.Errorf("ran on: %+v", r.Logs)
			}
		})
	}
}

// TestR5_NoMutationCall: a mutate that names none ends well, whatever it returns.
func TestR5_NoMutationCall(t *testing.T) {
	t.Parallel()
	for _, body := range []string{``, `return 1`, `return () => 1`, `if (a.data.x === 2) await ctx.mail.send({})`} {
		if r := succeed(t, sandbox.Mutate, body); r.Call != nil || r.Value != nil {
			t.Errorf("%q: %+v", body, r)
		}
	}
}

// TestMutationParams: parameters are one JSON object, or nothing is taken.
func TestMutationParams(t *testing.T) {
	t.Parallel()
	for body, params := range map[string]string{
		`ctx.mail.send()`:          `{}`,
		`ctx.mail.send(undefined)`: `{}`,
		`ctx.mail.send({a: [1, "ü", null], d: new Date(0), u: ` +
			`undefined})`: `{"a":[1,"ü",null],"d":"1970-01-01T00:00:00.000Z"}`,
		`ctx.mail.send({s: "\ud800"})`: `{"s":"\ud800"}`,
		`JSON.stringify = () => "{}"; Object.prototype.toString = null; ctx.mail.send({a: 1})`: `{"a":1}`,
	} {
		r := succeed(t, sandbox.Mutate, body)
		if r.Call == nil || string(r.Call.Params) != params || !json.Valid(r.Call.Params) {
			t.Errorf("%s: %+v", body, r.Call)
		}
	}
	for _, body := range []string{
		`ctx.mail.send(1)`, `ctx.mail.send("x")`, `ctx.mail.send([1])`, `ctx.mail.send(null)`, `ctx.mail.send(() => 1)`,
		`ctx.mail.send({}, {})`, `ctx.mail.send(new Date(0))`, `ctx.mail.send(Promise.resolve({}))`,
		`ctx.mail.send({x: 1n})`,
		`const x = {}; x.x = x; ctx.mail.send(x)`, `ctx.mail.send({ get x() { throw new Error("no") } })`,
		`ctx.mail.send(Symbol("x"))`,
		`try { ctx.mail.send({ toJSON() { throw null } }) } catch {}`,
	} {
		r, err := runBody(t, sandbox.Mutate, body)
		e := wantFault(t, err, sandbox.FaultScript, "call.params")
		if r.Call != nil || e.Line != 1 {
			t.Errorf("%s: took %+v, line %d", body, r.Call, e.Line)
		}
	}
}
