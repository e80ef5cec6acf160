package deploy_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm"
)

// A script whose call works when it is made is deployed: each of these is checked, then run.
func TestScriptsThatWorkAreNotRefused(t *testing.T) {
	t.Parallel()
	const minimal = `{ id: name, lines: list }`
	for name, c := range map[string]struct{ schema, before, argument string }{
		"an array inside is filled": {
			`{"required":["lines"],"properties":{"lines":{"minItems":1}}}`,
			`const o = { lines: [] }; for (const l of list) o.lines.push(l);`, `o`,
		},
		"an array inside is filled by index": {
			`{"required":["lines"],"properties":{"lines":{"minItems":1}}}`, `const o = { lines: [] }; o.lines[0] = 1;`, `o`,
		},
		"a member inside is added": {
			``, `const o = { id: name, lines: list, to: {} }; o.to.city = name;`, `o`,
		},
		"a member inside is added by name": {
			``, `const o = { id: name, lines: list, to: {} }; const k = "city"; o.to[k] = name;`, `o`,
		},
		"a member inside is added by brackets": {
			``, `const o = { id: name, lines: list, to: {} }; o["to"].city = name;`, `o`,
		},
		"a part has another name": {
			``, `const o = { id: name, lines: list, to: {} }; const to = o.to; to.city = name;`, `o`,
		},
		"a part is taken out by a pattern": {
			``, `const o = { id: name, lines: list, to: {} }; const { to } = o; to.city = name;`, `o`,
		},
		"a part is changed by a function": {
			``, `const o = { id: name, lines: list, to: {} }; const fill = (t) => { t.city = name }; fill(o.to);`, `o`,
		},
		"a part is changed by Object.assign": {
			``, `const o = { id: name, lines: list, to: {} }; Object.assign(o.to, { city: name });`, `o`,
		},
		"parts are changed in a loop": {
			``, `const o = { id: name, lines: [{}] }; for (const l of o.lines) l.sku = name;`, `o`,
		},
		"parts are changed by forEach": {
			``, `const o = { id: name, lines: [{}] }; o.lines.forEach((l) => { l.sku = name });`, `o`,
		},
		"a part is deleted inside": {
			``, `const o = { id: name, lines: [{ sku: 5 }] }; delete o.lines[0].sku; o.lines[0].sku = name;`, `o`,
		},
		"an inner literal's name is changed": {
			``, `const to = {}; const o = { id: name, lines: list, to }; to.city = name;`, `o`,
		},
		"a value is taken from a changed part": {
			``, `const a = { b: { city: 1 } }; const to = a.b; to.city = name;`, `{ id: name, lines: list, to: a.b }`,
		},
		"logical assignment": {``, `let id = 5; id &&= name;`, `{ id, lines: list }`},
		"nullish assignment inside": {
			``, `const o = { id: name, lines: list, to: {} }; o.to.city ??= name;`, `o`,
		},
		"assigned in an array pattern": {``, `let id = 5; [id] = [name];`, `{ id, lines: list }`},
		"assigned in a deep pattern": {
			``, `let id = 5; ({ a: [{ id }] } = { a: [{ id: name }] });`, `{ id, lines: list }`,
		},
		"assigned as a rest": {
			``, `let to = {}; ({ ...to } = { city: name });`, `{ id: name, lines: list, to }`,
		},
		"assigned by a loop":           {``, `let id = 5; for (id of [name]) ;`, `{ id, lines: list }`},
		"assigned by a loop over keys": {``, `let id = 5; for (id in { a: 1 }) ;`, `{ id, lines: list }`},
		"assigned in a function": {
			``, `let id = 5; const set = () => { id = name }; set();`, `{ id, lines: list }`,
		},
		"a parameter shadows": {
			``,
			`const id = 5; const f = async (id) => ctx.shop.order({ id, lines: list }); await f(name); return; void (0,id);`,
			minimal,
		},
		"a catch shadows": {
			``, `const id = 5; try { throw name } catch (id) { await ctx.shop.order({ id, lines: list }) }`, minimal,
		},
		"a class member": {``, `class A { id = name; lines = list }; const o = new A();`, `o`},
		"numeric names": {
			`{"patternProperties":{"^16$":{"type":"string"}},"additionalProperties":false}`, ``, `{ 0x10: "x" }`,
		},
		"numeric names as floats": {
			`{"patternProperties":{"^1.5$":{"type":"string"}},"additionalProperties":false}`, ``, `{ 1.50: "x" }`,
		},
		"a quoted number": {
			`{"properties":{"1":{"type":"string"}},"additionalProperties":false}`, ``, `{ "1": "x", 1: "y" }`,
		},
		"computed after": {``, ``, `{ id: 5, lines: list, ["id"]: name }`},
		"a computed __proto__": {
			`{"properties":{"__proto__":{"type":"number"}},"required":["__proto__"]}`, ``, `{ ["__proto__"]: 1 }`,
		},
		"a shorthand __proto__": {`{"required":["__proto__"]}`, `const __proto__ = 1;`, `{ __proto__ }`},
		"null __proto__":        {``, ``, `{ __proto__: null, id: name, lines: list }`},
		"an enum of texts": {
			``, `enum E { A = "low", B = "high" }`, `{ id: name, lines: list, priority: E.A }`,
		},
		"an enum of numbers": {``, `enum E { A = 1 }`, `{ id: name, lines: list, count: E.A }`},
		"as const":           {``, `const o = { id: "x", lines: [], priority: "low" } as const;`, `o`},
		"satisfies": {
			``, `const o = { id: "x", lines: [] } satisfies object;`, `{ ...o, id: name }`,
		},
		"a default for an operation": {
			``, `const { order = null } = ctx.shop;  await order({ id: name, lines: list }); return;`, minimal,
		},
		"a var that is not reached": {
			``, `if (!name) { var urgent: any = "yes" }`, `{ id: name, lines: list, urgent }`,
		},
		"a var that comes later": {
			``, `await ctx.shop.order({ id: name, lines: list, urgent }); var urgent: any = "yes"; return;`, minimal,
		},
		"a switch that is not reached": {
			``, `switch (name) { case "zz": var urgent: any = "yes" }`, `{ id: name, lines: list, urgent }`,
		},
		"a toJSON set on it": {
			`{"required":["city"]}`, `const o: any = { colour: "red" }; o.toJSON = () => ({ city: name });`, `o`,
		},
		"a generator's variable": {
			``, `function* ids() { yield name } let id: any = 5; for (id of ids()) break;`, `{ id, lines: list }`,
		},
		"an object given to a class": {
			``, `const to: any = {}; class A { to = to }; new A().to.city = name;`, `{ id: name, lines: list, to }`,
		},
		"an object held in an array": {
			``, `const to: any = {}; [to][0].city = name;`, `{ id: name, lines: list, to }`,
		},
		"an object changed by a tag": {
			``,
			`const to: any = {}; const tag = (s, o) => { o.city = name }; tag` + "`${to}`" + `;`,
			`{ id: name, lines: list, to }`,
		},
		"an object's member's setter": {
			``, `const to: any = { set fill(v) { this.city = v } }; to.fill = name;`, `{ id: name, lines: list, to }`,
		},
		"optional chaining assignment": {
			``, `const o: any = { id: name, lines: list, to: {} }; o?.to?.push; (o?.to).city = name;`, `o`,
		},
		"a bracketed chain": {
			``, `const o: any = { id: name, lines: list, to: {} }; (o as any).to!.city = name;`, `o`,
		},
		"counted up inside": {
			``,
			`const o: any = { id: name, lines: list, n: { count: 0 } }; o.n.count++; `,
			`{ id: name, lines: list, count: o.n.count }`,
		},
		"a member counted up": {
			`{"properties":{"n":{"properties":{"count":{"minimum":1}}}}}`, `const o: any = { n: { count: 0 } }; o.n.count++; `,
			`o`,
		},
		"a member of a part assigned in a pattern": {
			``, `const o: any = { id: name, lines: list, to: {} }; ({ a: o.to.city } = { a: name });`, `o`,
		},
		"a part is sorted": {
			`{"properties":{"a":{"prefixItems":[{"const":1}]}}}`, `const o: any = { a: [2, 1] }; o.a.sort();`, `o`,
		},
		"a part's length": {
			`{"properties":{"a":{"maxItems":1}}}`, `const o: any = { a: [2, 1] }; o.a.length = 1;`, `o`,
		},
		"a long literal": {
			`{"properties":{"a":{"const":"é\u0000\ud83d\ude00"}}}`, ``, `{ a: "é\0😀" }`,
		},
		"big numbers": {
			`{"properties":{"a":{"type":"integer","maximum":1e22}}}`, ``, `{ a: 9007199254740993 , b: 1e21 }`,
		},
		"fractions": {`{"properties":{"a":{"multipleOf":0.01}}}`, ``, `{ a: 1e-2, b: .1 }`},
		"a draft 7 schema": {
			`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$ref":"#/definitions/x",` +
				`"type":"string"}},"definitions":{"x":{"type":"number"}}}`,
			``, `{ a: 1 }`,
		},
		"a draft 7 tuple": {
			`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"items":[{"type":"string"}],` +
				`"additionalItems":{"type":"number"}}}}`,
			``, `{ a: ["x", 1] }`,
		},
		"a draft 4 limit": {
			`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":{"maximum":2,"exclusiveMaximum":false}}}`,
			``, `{ a: 2 }`,
		},
		"unevaluated in a part": {
			`{"allOf":[{"properties":{"a":{}}}],"properties":{"b":{}},"unevaluatedProperties":false}`, ``, `{ a: 1, b: 2 }`,
		},
		"unevaluated by a reference": {
			`{"$ref":"#/$defs/x","unevaluatedProperties":false,"$defs":{"x":{"properties":{"a":{}}}}}`, ``, `{ a: 1 }`,
		},
		"an additional member's schema": {
			`{"properties":{"a":{}},"additionalProperties":{"type":["string","null"]}}`, ``, `{ a: 1, b: null, c: "x" }`,
		},
		"format":   {`{"properties":{"a":{"format":"email"}}}`, ``, `{ a: "x" }`},
		"nullable": {`{"properties":{"a":{"type":["string","null"]}}}`, ``, `{ a: null }`},
		"an anchor": {
			`{"properties":{"a":{"$ref":"#n"}},"$defs":{"n":{"$anchor":"n","type":"number"}}}`, ``, `{ a: 1 }`,
		},
		"another document inside": {
			`{"$id":"http://x/y","properties":{"a":{"$ref":"z"}},"$defs":{"n":{"$id":"z","type":"number"}}}`, ``, `{ a: 1 }`,
		},
		"a frozen object": {``, `const o = Object.freeze({ id: name, lines: list });`, `o`},
		"a getter with a spread": {
			``, `const o = { get id() { return name } };`, `{ id: 5, lines: list, ...o }`,
		},
		"undefined stays": {
			``, `const nothing = undefined;`, `{ id: name, lines: list, urgent: nothing, colour: nothing }`,
		},
		"void":                     {``, ``, `{ id: name, lines: list, colour: void 0, urgent: void name }`},
		"negated texts":            {``, ``, `{ id: name, lines: list, count: -"-5", note: +"5" + "" }`},
		"double negation":          {``, ``, `{ id: name, lines: list, urgent: !!name }`},
		"typeof":                   {``, ``, `{ id: typeof name, lines: list }`},
		"a comma":                  {``, ``, `{ id: (5, name), lines: list }`},
		"an assignment as a value": {``, `let id;`, `{ id: id = name, lines: list }`},
		"an immediate function":    {``, ``, `(() => ({ id: name, lines: list }))()`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.schema == "" {
				c.schema = orderSchema
			}
			registry, err := connector.NewRegistry(tool{"shop", []connector.Operation{
				{Name: "order", Kind: connector.Mutate, Schema: json.RawMessage(c.schema), Timeout: time.Second},
				{
					Name: "cancel", Kind: connector.Mutate,
					Schema:  json.RawMessage(`{"required":["reason"],"properties":{"reason":{}},"additionalProperties":false}`),
					Timeout: time.Second,
				},
			}}, tool{"store", []connector.Operation{{
				Name: "order", Kind: connector.Mutate, Schema: json.RawMessage(`{"required":["x"]}`), Timeout: time.Second,
			}}})
			if err != nil {
				t.Fatal(err)
			}
			executor := vm.NewExecutor(vm.Config{})
			defer executor.Close()
			source := sandbox.Source{Filename: "w.ts", Code: `export default Keep.workflow({ name: "w", topics: { t: {} }, consumers: { c: Keep.consumer({ subscribe: ["t"],
  async prepare() { return { reservations: [], data: null, ui: { title: "x" } } },
  async mutate(ctx: any, { data }: any) { const { list, name } = data; ` + c.before + `
    await ctx.shop.order(` + c.argument + `);
  } }) } });`}
			definition, problems, err := executor.Describe(t.Context(), source)
			if err != nil {
				t.Fatal(err)
			}
			_, problems = checked(deploy.Input{Definition: definition, Found: problems,
				Catalog: deploy.CatalogOf(registry)})
			out, err := executor.Invoke(t.Context(), sandbox.Invocation{
				Source: source, Phase: sandbox.Mutate, Handler: "c",
				Prepared: json.RawMessage(`{"data":{"list":[{"sku":"s"}],"name":"n"}}`),
				Operations: []sandbox.Operation{
					{
						Connector: "shop", Operation: "order", Kind: sandbox.KindMutate,
					}, {Connector: "shop", Operation: "cancel", Kind: sandbox.KindMutate},
					{Connector: "store", Operation: "order", Kind: sandbox.KindMutate},
				},
			}, nil)
			if err != nil || out.Call == nil {
				t.Fatalf("the script itself fails: %v", err)
			}
			done := registry.Perform(t.Context(), connector.Call{Connector: out.Call.Connector, Operation: out.Call.Operation,
				Params: out.Call.Params, Key: "k", Deadline: time.Now().Add(time.Minute)})
			if done.Failure != nil && strings.Contains(done.Failure.Error(), "do not fit") {
				t.Fatalf("the call fails: %v", done.Failure)
			}
			for _, p := range problems {
				// A member that the operation does not take is named whatever its value is.
				if p.Severity == sandbox.SeverityError || p.Code == connector.CodeParams &&
					!strings.Contains(p.Message, "not allowed") {
					t.Errorf("%d:%d %s %s → %s\nthe call works with %s %s", p.Line, p.Column, p.Code, p.Message, p.Fix,
						out.Call.Operation, out.Call.Params)
				}
			}
		})
	}
}
