package worker

import (
	"testing"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm"
)

// reaches are ways to the interpreter's own global, each an expression or statements that return.
var reaches = map[string]string{
	"a name":                `return typeof GoError`,
	"a name with an escape": `return typeof \u0047oError`,
	"the global object":     `return typeof globalThis["Go" + "Error"]`,
	"the global object's names": `return Object.getOwnPropertyNames(globalThis).includes("GoError") ? ` +
		`"function" : "undefined"`,
	"the global object with an escape": `return typeof \u{67}lobalThis["Go" + "Error"]`,
	"eval":                             `return eval("typeof Go" + "Error")`,
	"indirect eval": `return (0, eval)("this")["Go" + "Error"] === undefined ? "undefined" ` +
		`: "function"`,
	"eval in eval":  `return eval("eval('typeof Go' + 'Error')")`,
	"Function":      `return typeof Function("return this")()["Go" + "Error"]`,
	"new Function":  `return new Function("return typeof Go" + "Error")()`,
	"a constructor": `return typeof (() => {})["construc" + "tor"]("return this")()["Go" + "Error"]`,
	"an async constructor": `return typeof (await (async () => {})["construc" + "tor"]("return ` +
		`this")())["Go" + "Error"]`,
	"a generator's constructor": `return typeof (function* () {})["construc" + "tor"]("yield ` +
		`this")().next().value["Go" + "Error"]`,
	"Reflect.construct": `return typeof Reflect.construct(Function, ["return this"])()["Go" + "Error"]`,
	"a getter for an undeclared name": `Object.defineProperty(Object.prototype, "nobody", { get() { return ` +
		`this } }); ` +
		`return typeof nobody["Go" + "Error"]`,
	"a getter under a default value": `Object.defineProperty(Object.prototype, "nobody", { get() { return this } }); ` +
		`return typeof ((a = nobody) => { var nobody; return a })()["Go" + "Error"]`,
	"a getter under a pattern": `Object.defineProperty(Object.prototype, "nobody", { get() { return this } }); ` +
		`return typeof (({ a = [nobody] }) => { var nobody; return a[0] })({})["Go" + "Error"]`,
	"a setter for an undeclared name": `let found; Object.defineProperty(Object.prototype, "nobody", { set() { found ` +
		`= this } }); try { nobody = 1 } catch {} return typeof found?.["Go" + "Error"]`,
	"an undeclared tag": "Object.defineProperty(Object.prototype, \"nobody\", { get() { const g = this; return " +
		"() => g } }); return typeof nobody`x`[\"Go\" + \"Error\"]",
	"this of a plain function": `return typeof (function () { return this })()?.["Go" + "Error"]`,
	"this of a callback": `let found; [1].forEach(function () { found = this }); return typeof ` +
		`found?.["Go" + "Error"]`,
	"this of bind":          `return typeof (function () { return this }).bind(null)()?.["Go" + "Error"]`,
	"this of a getter":      `return typeof Reflect.get({ get a() { return this } }, "a", undefined)?.["Go" + "Error"]`,
	"this of the top level": `return typeof (() => this)()?.["Go" + "Error"]`,
	"console": `console.log({ toJSON() { return 1 } }); return typeof ` +
		`console.log.call(undefined)?.["Go" + "Error"]`,
	"structuredClone": `return typeof structuredClone.call(undefined, {})["Go" + "Error"]`,
}

func TestScriptsDoNotReachTheInterpretersOwnGlobal(t *testing.T) {
	for name, body := range reaches {
		t.Run(name, func(t *testing.T) {
			if r := succeed(t, sandbox.Prepare, body); string(r.Value) != `"undefined"` {
				t.Errorf("got %s", r.Value)
			}
		})
	}
}

func TestAGlobalOfTheScriptsOwnStays(t *testing.T) {
	r := succeed(t, sandbox.Prepare, `const g = Function("return this")(); const name = "Go" + "Error"; g[name] = 5; `+
		`return [eval("1"), Function("return 2")(), g[name]]`)
	if string(r.Value) != `[1,2,5]` {
		t.Errorf("got %s", r.Value)
	}
}

// What is hidden only when it can be found must not be hidden always, or nothing is won.
func TestOrdinaryScriptsDoNotReachTheGlobalObject(t *testing.T) {
	for name, source := range map[string]sandbox.Source{"orders": {Filename: "orders.ts", Code: orderSource},
		"the documented example": exampleSource(t),
		"console": handlerSource(sandbox.Prepare,
			`console.log(Math.max(1, 2), new Date(), undefined, NaN); return JSON.stringify(a)`)} {
		s, _, problems := vm.Prepare(source, 1<<20)
		if sandbox.HasErrors(problems) {
			t.Fatal(problems)
		}
		if s.ReachesGlobal {
			t.Errorf("%s is taken to reach the global object", name)
		}
	}
}
