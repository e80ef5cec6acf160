package worker

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/sandbox"
)

// TestFailuresHaveAPlace: also of a failure of which the interpreter keeps no position the author's line
// is said: that of the return or the throw, or of the handler where it may be one of several.
func TestFailuresHaveAPlace(t *testing.T) {
	t.Parallel()
	small := sandbox.Limits{Result: 60, State: 60}
	for name, c := range map[string]struct {
		phase sandbox.Phase
		code  string // members of the consumer h or the producers, from line 3
		code2 string // behind the workflow, from line 20
		want  string
		line  int
	}{
		"the one return": {sandbox.Prepare,
			"async prepare(ctx) {\n const x = await ctx.mail.search({});\n return {\n  x: 'x'.repeat(100) } }", "",
			"limit.result", 5},
		"another is a constant": {sandbox.Prepare,
			"async prepare(ctx) {\n if (!ctx) return { reservations: [], data: null };\n const x = " +
				"'x'.repeat(100);\n " +
				"return { x } }", "", "limit.result", 6},
		"another returns nothing": {sandbox.Next,
			"async prepare() {},\n async next(ctx) {\n if (!ctx) return;\n return 'x'.repeat(100) }", "", "limit.state",
			6},
		"a constant too long": {sandbox.Prepare, "async prepare(ctx) {\n if (!ctx) return [1];\n return '" +
			strings.Repeat("x", 100) + "' }", "", "limit.result", 5},
		"several": {sandbox.Prepare,
			"\nasync prepare(ctx) {\n if (!ctx) return ctx.now();\n return 'x'.repeat(100) }", "", "limit.result", 4},
		"several on one line": {sandbox.Prepare,
			"\nasync prepare(ctx) {\n\n return ctx ? 'x'.repeat(100) : ctx.now() }", "", "limit.result", 6},
		"of a function inside": {sandbox.Prepare,
			"\nasync prepare(ctx) {\n const f = () => { return 1 };\n\n return 'x'.repeat(100) + f() }", "",
			"limit.result", 7},
		"an expression": {sandbox.Prepare, "prepare: async () =>\n 'x'.repeat(100)", "", "limit.result", 4},
		"elsewhere": {sandbox.Prepare, "prepare",
			"async function prepare(ctx) {\n return 'x'.repeat(100) }", "limit.result", 21},
		"made at run time": {sandbox.Prepare, "\nprepare: make()",
			"function make() {\n return async () => 'x'.repeat(100) }", "limit.result", 4},
		"a bare producer": {sandbox.Producer, "\nasync h() {\n return 'x'.repeat(100) }", "", "limit.state", 5},
		"a producer": {sandbox.Producer,
			"h: { interval: '5m',\nasync poll() {\n return 'x'.repeat(100) } }", "", "limit.state", 5},
		"a BigInt": {sandbox.Prepare, "async prepare() {\n if (!Date) return 1;\n return { n: 5n } }", "",
			"script.result", 5},
		"a circle": {sandbox.Next,
			"async prepare() {},\nasync next() {\n const a = {}; a.a = a;\n return a }", "", "script.result", 6},
		"a text thrown": {sandbox.Prepare, "async prepare() {\n throw 'no' }", "", "script.threw", 4},
		"thrown after a read": {sandbox.Prepare, "async prepare(ctx) {\n await ctx.mail.search({});\n throw 'no' }",
			"", "script.threw", 5},
		"nothing thrown": {sandbox.Prepare,
			"async prepare(ctx) {\n await ctx.mail.search({});\n throw undefined }", "", "script.threw", 5},
		"an object thrown": {sandbox.Prepare, "async prepare(ctx) {\n throw { code: 5 } }", "", "script.threw",
			4},
		"thrown elsewhere": {sandbox.Prepare, "async prepare(ctx) {\n await refuse(ctx) }",
			"async function refuse(ctx) {\n await ctx.mail.search({});\n throw `no ${1}` }", "script.threw", 22},
		"thrown in a callback": {sandbox.Prepare,
			"async prepare(ctx) {\n await ctx.mail.search({});\n [1].forEach(() => {\n throw 7 }) }", "",
			"script.threw", 6},
		"another was caught": {sandbox.Prepare,
			"async prepare(ctx) {\n try { throw 'a' } catch {}\n try { throw 'b' } catch (e) {\n throw e + 'c' } }", "",
			"script.threw", 6},
		"thrown while described": {sandbox.Prepare,
			"async prepare(ctx) {\n throw { get message() { try { throw 1 } catch {} return 'no' } } }", "",
			"script.threw", 4},
		"an error": {sandbox.Prepare, "async prepare(ctx) {\n const e = new Error('no');\n\n throw e }", "",
			"script.threw", 4},
		"rejected": {sandbox.Prepare, "\nasync prepare(ctx) {\n\n await Promise.reject('no') }", "", "script.threw",
			4},
		"not awaited": {sandbox.Prepare, "async prepare(ctx) {\n (async () => {\n throw 'no' })() }", "",
			"script.threw", 5},
		"pending": {sandbox.Prepare, "\n\nasync prepare(ctx) {\n await new Promise(() => {}) }", "", "script.pending",
			5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := invocationOf(c.phase, "")
			head, tail := "export default Keep.workflow({ name: 'w', topics: { 't.a': {} },\n consumers: { h: "+
				"Keep.consumer({ subscribe: ['t.a'],\n", " }) } });"
			if c.phase == sandbox.Producer {
				head, tail = "export default Keep.workflow({ name: 'w', topics: { 't.a': {} },\n producers: {\n",
					" } });"
			}
			code := head + c.code + tail
			code += strings.Repeat("\n", 19-strings.Count(code, "\n")) + c.code2
			call.Source, call.Limits = sandbox.Source{Filename: "flow.ts", Code: code}, small
			e := newExecutor(t)
			for range 2 { // the place is remembered with the script
				_, err := e.Invoke(t.Context(), call, world)
				if f := wantFault(t, err, sandbox.FaultScript, c.want); f.Line != c.line || f.Column == 0 {
					t.Errorf("%v at %d:%d, want line %d", f, f.Line, f.Column, c.line)
				}
			}
		})
	}
}

// TestKilledWorkersLeaveThePlace: of a script whose worker could say nothing any more the handler's line
// is known, also if that worker was told of the script in an earlier call.
func TestKilledWorkersLeaveThePlace(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it takes 3 s")
	}
	t.Parallel()
	const fill = "const all = []; for (;;) all.push('x'.repeat(1024 * 1024) + all.length)"
	code := "export default Keep.workflow({ name: 'w', topics: {}, producers: {\n" +
		"  first: async (ctx, state) => { if (state) { " + fill + " } },\n" +
		"  async second(ctx, state) {\n if (state) { " + fill + " } },\n" +
		"  native: { interval: '5m',\n async run() {\n Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1) " +
		"} },\n} });"
	p := newPool(t, Config{Size: 1})
	produce := func(handler string, state json.RawMessage) error {
		call := invocationOf(sandbox.Producer, "")
		call.Source, call.Handler, call.State = sandbox.Source{Filename: "flow.ts", Code: code}, handler, state
		call.Limits.CPU = sandbox.MaxCPU
		if handler == "native" {
			call.Limits.CPU = 0
		}
		_, err := p.Invoke(context.WithoutCancel(t.Context()), call, world)
		return err
	}
	for handler, line := range map[string]int{"first": 2, "second": 3} {
		if err := produce(handler, nil); err != nil {
			t.Fatal(err)
		}
		if err := produce("first", nil); err != nil {
			t.Fatal(err)
		}
		if e := wantFault(t, produce(handler, json.RawMessage("1")), sandbox.FaultScript,
			"limit.memory"); e.Line != line || e.Column == 0 {
			t.Errorf("%s: %v at %d:%d, want line %d", handler, e, e.Line, e.Column, line)
		}
	}
	if e := wantFault(t, produce("native", nil), sandbox.FaultScript, "limit.cpu"); e.Line != 6 {
		t.Errorf("%v at %d:%d, want line 6", e, e.Line, e.Column)
	}
}
