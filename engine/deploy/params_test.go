package deploy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm"
)

// orderSchema uses what schemas of tools use.
const orderSchema = `{
  "type": "object", "additionalProperties": false, "required": ["id", "lines"],
  "properties": {
    "id": {"type": "string", "minLength": 1},
    "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}},
    "priority": {"enum": ["low", "high"]},
    "count": {"type": "integer", "minimum": 1},
    "urgent": {"type": "boolean"},
    "to": {"allOf": [{"type": "object", "required": ["city"]}, {"properties": {"zip": {"type": "string"}}}]},
    "note": {"type": ["string", "null"]},
    "labels": {"type": "object", "additionalProperties": {"type": "string"}, "patternProperties": {"^n_": {"type": "number"}}},
    "pay": {"oneOf": [{"required": ["card"]}, {"required": ["iban"]}]},
    "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}], "items": false},
    "any": {}
  },
  "$defs": {"line": {"type": "object", "required": ["sku"], "properties": {"sku": {"type": "string"}, "parts": {"type": "array", "items": {"$ref": "#/$defs/line"}}}}}
}`

// ordering describes a script whose mutate sends an order, with code before it and the call's argument,
// and checks it. The call begins on line 4, its argument on line 5.
func ordering(t *testing.T, schema, before, argument string) []sandbox.Problem {
	t.Helper()
	registry, err := connector.NewRegistry(tool{"shop", []connector.Operation{
		{Name: "order", Kind: connector.Mutate, Schema: json.RawMessage(schema), Timeout: time.Second},
	}})
	if err != nil {
		t.Fatal(err)
	}
	executor := vm.NewExecutor(vm.Config{})
	defer executor.Close()
	code := `export default Keep.workflow({ name: "w", topics: { t: {} }, consumers: { c: Keep.consumer({ subscribe: ["t"],
  async prepare() { return { reservations: [], data: null, ui: { title: "x" } } },
  async mutate(ctx, { data, list, name }) { ` + before + `
    await ctx.shop.order(
` + argument + `
    );
  },
}) } });`
	definition, problems, err := executor.Describe(t.Context(), sandbox.Source{Filename: "w.ts", Code: code})
	if err != nil {
		t.Fatal(err)
	}
	_, problems = checked(deploy.Input{Definition: definition, Found: problems, Catalog: deploy.CatalogOf(registry)})
	return slices.DeleteFunc(problems, func(p sandbox.Problem) bool {
		return p.Severity == sandbox.SeverityWarning && p.Code != connector.CodeParams && p.Code != deploy.CodeStringified
	})
}

// What is certainly wrong with the parameters of a call is said at its place with what to do.
func TestWrittenParametersAreCheckedAtDeploy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, argument string
		want             []string // line:column message → fix
	}{
		"nothing": {
			"", ``, []string{`4:11 missing properties 'id', 'lines' → add id: "…"; add lines: […]`},
		},
		"undefined":        {"", `undefined`, []string{`4:11 missing properties 'id', 'lines' → add id`}},
		"a missing member": {"", `{ id: data.id }`, []string{`5:1 missing property 'lines' → add lines: […]`}},
		"left out by JSON": {
			"", `{ id: undefined, lines() {} }`, []string{`5:1 missing properties 'id', 'lines' →`},
		},
		"a misspelt member": {
			"", `{ id: name, linse: [] }`,
			[]string{
				`5:1 missing property 'lines' → rename linse to lines`,
				`5:13 additional properties 'linse' not allowed → rename linse to lines`,
			},
		},
		"a member too many": {
			"", "{ id: name, lines: list,\n  colour: `red ${name}` }",
			[]string{`6:3 additional properties 'colour' not allowed → remove it; shop.order takes any, count, id,`},
		},
		"too many beside a spread": {
			"", `{ ...data, colour: "red" }`, []string{`5:12 additional properties 'colour' not allowed →`},
		},
		"a wrong literal": {
			"", `{ id: 7, lines: list }`, []string{`5:3 id: got number, want string → write id: "7"`},
		},
		"a negative number": {
			"", `{ id: name, lines: list, count: -1 }`, []string{`5:26 count: minimum: got -1, want 1 → connector.show [shop]`},
		},
		"no integer": {
			"", `{ id: name, lines: list, count: 1.5 }`, []string{`5:26 count: got number, want integer →`},
		},
		"an empty text": {"", `{ id: "", lines: list }`, []string{`5:3 id: minLength: got 0, want 1 →`}},
		"a template": {
			"", "{ id: name, lines: list, urgent: `${name}` }",
			[]string{`5:26 urgent: got string, want boolean → write urgent: true`},
		},
		"a whole template": {
			"", "{ id: name, lines: list, priority: `normal` }", []string{`5:26 priority: value must be one of 'low', 'high' →`},
		},
		"null":       {"", `{ id: null, lines: list }`, []string{`5:3 id: got null, want string →`}},
		"a negation": {"", `{ id: !name, lines: list }`, []string{`5:3 id: got boolean, want string →`}},
		"none of an enumeration": {
			"", `{ id: name, lines: list, priority: "hihg" }`, []string{`5:26 priority: value must be one of 'low', 'high' →`},
		},
		"none of several types": {
			"", `{ id: name, lines: list, note: {} }`, []string{`5:26 note: got object, want null or string →`},
		},
		"inside an object": {
			"", `{ id: name, lines: list, to: { zip: 1, street: name } }`,
			[]string{`5:26 to: missing property 'city' → add city: …`, `5:32 to.zip: got number, want string →`},
		},
		"inside an array": {
			"", `{ id: name, lines: [line, { sku: 5 }, {}] }`,
			[]string{`5:29 lines.1.sku: got number, want string →`, `5:39 lines.2: missing property 'sku' →`},
		},
		"before a spread of items": {
			"", `{ id: name, lines: [7, ...list] }`, []string{`5:21 lines.0: got number, want object → write { … }`},
		},
		"through references": {
			"",
			`{ id: name, lines: [{ sku: name, parts: [{ sku: name, parts: [{}] }] }] }`,
			[]string{`5:63 lines.0.parts.0.parts.0: missing property 'sku' →`},
		},
		"additional ones' type": {
			"",
			`{ id: name, lines: list, labels: { a: "x", b: 2, n_c: "x", n_d: 3 } }`,
			[]string{`5:44 labels.b: got number, want string →`, `5:50 labels.n_c: got string, want number →`},
		},
		"none of the alternatives": {
			"", `{ id: name, lines: list, pay: { cash: true } }`,
			[]string{`5:26 pay: missing property 'card'; pay: missing property 'iban' →`},
		},
		"items by their place": {
			"", `{ id: name, lines: list, pair: [1, "x", name] }`,
			[]string{`5:33 pair.0: got number, want string →`, `5:36 pair.1: got string, want number →`},
		},
		"items beyond the last": {
			"", `{ id: name, lines: list, pair: ["x", 1, "y"] }`, []string{`5:41 pair.2: false schema → remove it`},
		},
		"the last of two":   {"", `{ id: "a", id: 1, lines: list }`, []string{`5:12 id: got number, want string →`}},
		"after a spread":    {"", `{ ...data, id: 1 }`, []string{`5:12 id: got number, want string →`}},
		"a quoted name":     {"", `{ "id": 1, lines: list }`, []string{`5:3 id: got number, want string →`}},
		"a constant":        {`const id = 5;`, `{ id, lines: list }`, []string{`5:3 id: got number, want string →`}},
		"a constant object": {`const order = { id: name };`, `order`, []string{`3:59 missing property 'lines' →`}},
		"a constant inside": {
			`const to = { zip: 1 };`, `{ id: name, lines: list, to }`,
			[]string{`5:26 to: missing property 'city' →`, `3:58 to.zip: got number, want string →`},
		},
		"a cast": {
			"",
			`{ id: 5 as unknown as string, lines: [] as any[], urgent: <any>"yes" } as any`,
			[]string{`5:3 id: got number, want string →`, `5:51 urgent: got string, want boolean →`},
		},
		"satisfies and not null": {
			"", `{ id: (5)!, lines: list } satisfies object`, []string{`5:3 id: got number, want string →`},
		},
		"all that is wrong at once": {
			"", `{ id: 1, count: "2", colour: true }`,
			[]string{
				`5:1 missing property 'lines' →`, `5:3 id: got`, `5:10 count: got string, want integer →`,
				`5:22 additional properties 'colour'`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			problems := ordering(t, orderSchema, c.before, c.argument)
			var got []string
			for _, p := range problems {
				if p.Code != connector.CodeParams || p.Severity != sandbox.SeverityError || p.Fix == "" {
					t.Errorf("%+v", p)
				}
				got = append(got, fmt.Sprintf("%d:%d %s → %s", p.Line, p.Column,
					strings.TrimPrefix(p.Message, "the parameters of shop.order do not fit: "), p.Fix))
			}
			for _, want := range c.want {
				if !slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, want) }) {
					t.Errorf("lacks %s", want)
				}
			}
			if len(got) != len(c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// A member that the operation does not take is named whatever its value is. One whose value is not known may be
// undefined, and is not sent then: it is a warning.
func TestAMemberOfAnyValueIsNamed(t *testing.T) {
	t.Parallel()
	for argument, fix := range map[string]string{
		`{ id: name, lines: list, colour: name }`: "remove it; shop.order takes any",
		`{ id: name, lines: list, name }`:         "remove it; shop.order takes any",
		`{ id: name, linse: list }`:               "rename linse to lines",
		`{ id: name, rows: list }`:                "rename rows to lines",
	} {
		found := ordering(t, orderSchema, "", argument)
		i := slices.IndexFunc(found, func(p sandbox.Problem) bool { return strings.Contains(p.Message, "not allowed") })
		if i < 0 || found[i].Severity != sandbox.SeverityWarning || !strings.HasPrefix(found[i].Fix, fix) {
			t.Errorf("%s: %+v", argument, found)
		}
	}
}

// Where the text leaves a way to parameters that fit, a deploy is silent.
func TestUncertainParametersAreLeftToTheCall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, argument string }{
		"all of it": {
			"",
			`{ id: "a", lines: [{ sku: "s", parts: [] }], priority: "low", count: 2, urgent: true, to: { city: "x" }, ` +
				`note: null, pay: { iban: "x" }, pair: ["x", 1] }`,
		},
		"variables":                   {"", `{ id: name, lines: list, count: data.count }`},
		"a variable as a whole":       {"", `data`},
		"a call":                      {"", `build(data)`},
		"an alternative":              {"", `data ? { id: 1 } : { id: name, lines: list }`},
		"a fallback":                  {"", `data || { id: 1 }`},
		"an alternative inside":       {"", `{ id: data ? 1 : "a", lines: list ?? 5 }`},
		"a sum":                       {"", `{ id: "a" + 1, lines: list, count: 1 + 1 }`},
		"a spread":                    {"", `{ ...data }`},
		"a spread after":              {"", `{ id: 1, colour: "red", ...data }`},
		"a spread inside":             {"", `{ id: name, lines: [...list], to: { ...data } }`},
		"a spread argument":           {"", `...list`},
		"a computed name":             {"", `{ [name]: 1 }`},
		"a computed name after":       {"", `{ id: 1, lines: 2, [name]: list }`},
		"a getter":                    {"", `{ get id() { return name }, lines: list }`},
		"a getter of the same name":   {"", `{ id: 1, get id() { return name }, lines: list }`},
		"undefined":                   {"", `{ id: name, lines: list, colour: undefined }`},
		"its own JSON":                {"", `{ id: 1, toJSON() { return data } }`},
		"inherited":                   {"", `{ __proto__: data, id: 1 }`},
		"a shadowed undefined":        {`const undefined_ = name;`, `{ id: undefined_, lines: list }`},
		"a parameter's default":       {`const send = (o = { id: 1 }) => ctx.shop.order(o); await send(data);`, `data`},
		"changed by a member":         {`const o = { id: 1 }; o.lines = list; o.id = name;`, `o`},
		"changed by a computed name":  {`const o = { id: 1 }; o[name] = list;`, `o`},
		"changed by a function":       {`const o = { id: 1 }; fill(o);`, `o`},
		"changed by a method":         {`const lines = [1]; lines.pop();`, `{ id: name, lines }`},
		"changed through another one": {`const o = { id: 1 }; const p = o; p.id = name; p.lines = list;`, `o`},
		"changed inside": {
			`const o = { to: { zip: 1 } }; o.to.zip = name; o.to.city = name;`, `{ id: name, lines: list, to: o.to }`,
		},
		"assigned again":            {`let id: any = 1; id = name;`, `{ id, lines: list }`},
		"assigned in a pattern":     {`let id: any = 1; ({ id } = data);`, `{ id, lines: list }`},
		"declared twice":            {`var id: any = 1; var id: any = name;`, `{ id, lines: list }`},
		"a loop's variable":         {`for (var id of list) {}`, `{ id, lines: list }`},
		"a tagged template":         {"", "{ id: String.raw`a`, lines: list, count: tag`b` }"},
		"a text in a template":      {"", "{ id: `${name}`, lines: list, priority: `${name}` }"},
		"awaited":                   {"", `{ id: await data, lines: await list }`},
		"a new one":                 {"", `{ id: new String("x"), lines: new Array(3) }`},
		"a pattern":                 {"", `{ id: name, lines: list, labels: /x/ }`},
		"too large a number":        {"", `{ id: name, lines: list, note: 1e999 }`},
		"perhaps in an alternative": {"", `{ id: name, lines: list, pay: { card: name } }`},
		"optional calls":            {"", `data?.order`},
		"more than one argument":    {"", `...[{ id: 1 }]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, p := range ordering(t, orderSchema,
				"const build = (x) => x, fill = (x) => x, tag = (x) => x, line = data; "+c.before, c.argument) {
				t.Errorf("%+v", p)
			}
		})
	}
}

// Parts of a schema that hold only in some cases say nothing about what is not written whole.
func TestConditionalSchemasAreLeftToTheCall(t *testing.T) {
	t.Parallel()
	const argument = `{ kind: name, a: "x", b: [1, name], c: { d: name } }`
	for name, schema := range map[string]string{
		"anyOf": `{"anyOf": [{"required": ["z"]}, {"properties": {"a": {"type": "string"}}}]}`,
		"oneOf": `{"oneOf": [{"properties": {"a": {"type": "number"}}}, ` +
			`{"properties": {"c": {"type": "object"}}}]}`,
		"not": `{"not": {"required": ["kind"], "properties": {"kind": {"const": "x"}}}}`,
		"if and then": `{"if": {"properties": {"kind": {"const": "x"}}}, "then": {"required": ["z"]}, ` +
			`"else": {"properties": {"a": {"type": "string"}}}}`,
		"dependentSchemas":  `{"dependentSchemas": {"kind": {"required": ["z"]}}}`,
		"dependentRequired": `{"dependentRequired": {"kind": ["z"]}}`,
		"unevaluatedProperties": `{"properties": {"a": {}}, "anyOf": [{"properties": {"kind": {}, "b": {}, "c": {}}}], ` +
			`"unevaluatedProperties": false}`,
		"minProperties":        `{"minProperties": 4}`,
		"contains":             `{"properties": {"b": {"contains": {"type": "string"}}}}`,
		"uniqueItems":          `{"properties": {"b": {"uniqueItems": true}}}`,
		"a dynamic reference":  `{"$id": "x:y", "$dynamicAnchor": "n", "properties": {"c": {"$dynamicRef": "#n"}}}`,
		"an endless reference": `{"properties": {"c": {"allOf": [{"$ref": "#/properties/c"}, {"$ref": "#/properties/c"}]}}}`,
		"true":                 `true`,
		"no schema":            ``,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, p := range ordering(t, schema, "", argument) {
				t.Errorf("%+v", p)
			}
		})
	}
}

// A deploy and a call word the same mistake alike, so that a search for one text finds the other.
func TestADeploySpeaksAsTheCallDoes(t *testing.T) {
	t.Parallel()
	registry, err := connector.NewRegistry(tool{"shop",
		[]connector.Operation{
			{Name: "order", Kind: connector.Mutate, Schema: json.RawMessage(orderSchema), Timeout: time.Second},
		}})
	if err != nil {
		t.Fatal(err)
	}
	for _, argument := range []string{
		`{"id":"a"}`, `{"id":1,"lines":[]}`, `{"id":"a","lines":[{"sku":2}]}`, `{"id":"a","lines":[],"colour":"red"}`,
		`{"id":"a","lines":[],"priority":"x"}`,
		`{"id":"a","lines":[],"count":0.5}`, `{"id":"a","lines":[],"pay":{}}`, `{"id":"a","lines":[],"to":[]}`,
		`{"id":"a","lines":[],"labels":{"a":1}}`,
	} {
		out := registry.Perform(context.Background(), connector.Call{Connector: "shop", Operation: "order",
			Params: json.RawMessage(argument), Key: "k"})
		var failure *eventlog.Failure
		if !errors.As(out.Failure, &failure) || failure.Code != connector.CodeParams {
			t.Fatalf("%s: %+v", argument, out)
		}
		problems := ordering(t, orderSchema, "", argument)
		if len(problems) != 1 || problems[0].Message != failure.Message || problems[0].Code != failure.Code {
			t.Errorf("%s: at deploy %+v, at the call %+v", argument, problems, failure)
		}
	}
}
