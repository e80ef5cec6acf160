package worker

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/lint"
)

// called describes a script whose mutate makes one call, and returns the call as it is taken down.
func called(t *testing.T, before, argument string) []sandbox.WrittenCall {
	t.Helper()
	d, problems := describeText(t, before+`
export default Keep.workflow({ name: "w", topics: { t: {} }, consumers: { c: Keep.consumer({ subscribe: ["t"],
  async prepare() { return { reservations: [], data: null, ui: { title: "x" } } },
  async mutate(ctx, { data }) { await ctx.m.send(`+argument+`) } }) } })`)
	if sandbox.HasErrors(problems) {
		t.Fatalf("%+v", problems)
	}
	return d.Calls
}

// show renders a written value: … for anything, + for what may have more members or items.
func show(w sandbox.Written) string {
	open := ""
	if w.Open {
		open = "+"
	}
	switch w.Kind {
	case "":
		return "…"
	case sandbox.WrittenObject:
		var members []string
		for _, m := range w.Members {
			members = append(members, m.Name+":"+show(m.Value))
		}
		return "{" + strings.Join(members, " ") + open + "}"
	case sandbox.WrittenArray:
		var items []string
		for _, i := range w.Items {
			items = append(items, show(i))
		}
		return "[" + strings.Join(items, " ") + open + "]"
	}
	if len(w.Value) == 0 {
		return string(w.Kind)
	}
	return string(w.Kind) + string(w.Value)
}

// What is taken down of a call is what its JSON will be, whatever else happens.
func TestParametersAreTakenDownAsWritten(t *testing.T) {
	t.Parallel()
	for argument, want := range map[string]string{
		``:                                     `{}`,
		`undefined`:                            `{}`,
		`{ a: 1, b: "x", c: true, d: null }`:   `{a:number1 b:string"x" c:booleantrue d:null}`,
		`{ a: -0, b: 1e21, c: 0x10, d: 5n }`:   `{a:number0 b:number1e+21 c:number16 d:…}`,
		"{ a: `x`, b: `x${data}`, c: !data }":  `{a:string"x" b:string c:boolean}`,
		`{ a: [1, , data, [2]], b: { c: {} }}`: `{a:[number1 … … [number2]] b:{c:{}}}`,
		`{ a: [1, ...data, 2] }`:               `{a:[number1+]}`,
		`{ a: 1, ...data, b: 2 }`:              `{a:… b:number2+}`,
		`{ a: 1, [data]: 3, b: 2 }`:            `{a:… b:number2+}`,
		`{ a: 1, a: 2, b: 3 }`:                 `{a:number2 b:number3}`,
		`{ a: 1, a() {}, b: () => {} }`:        `{}`,
		`{ a: "\ud800" }`:                      `{a:string}`,
		`{ data }`:                             `{data:…}`,
	} {
		calls := called(t, "", argument)
		if len(calls) != 1 || show(calls[0].Params) != want {
			t.Errorf("%s: got %+v, want %s", argument, calls, want)
		}
	}
	for _, argument := range []string{`data`, `...data`, `data, {}`, `{ toJSON: data }`, `{ __proto__: data }`,
		`new Map()`, `/x/`} {
		d, _ := describeText(t, `export default Keep.workflow({ name: "w", topics: { t: {} }, producers: { async `+
			`p(ctx, data) { await ctx.m.list(`+argument+`) } } })`)
		if len(d.Calls) != 0 {
			t.Errorf("%s: %+v", argument, d.Calls)
		}
	}
}

// A description has a size whatever the script says: what one name stands for may be used everywhere.
func TestWhatIsTakenDownIsBounded(t *testing.T) {
	t.Parallel()
	var many, spreads strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&many, "a%d: text,\n", i)
		fmt.Fprintf(&spreads, "a%d: 1, ...text,\n", i)
	}
	deep := strings.Repeat("{ a: ", 200) + "1" + strings.Repeat(" }", 200)
	for name, c := range map[string]struct{ before, argument string }{
		"a large text":  {"const text = \"" + strings.Repeat("x", 50_000) + "\";", "{ " + many.String() + "}"},
		"many members":  {"const text = 1;", "{ " + many.String() + "}"},
		"deep nesting":  {"", deep},
		"many items":    {"", "{ a: [" + strings.Repeat("1,", 50_000) + "] }"},
		"many spreads":  {"const text = 1;", "{ " + spreads.String() + "}"},
		"names in ring": {"const a = { b }, b = { a };", "{ a }"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, _ := describeText(t, c.before+`
export default Keep.workflow({ name: "w", topics: { t: {} }, producers: { async p(ctx) { await ctx.m.list(`+c.argument+`) } } })`)
			document, err := json.Marshal(d.Calls)
			if err != nil || len(document) > 2*lint.MaxWritten {
				t.Errorf("%d bytes, %v", len(document), err)
			}
		})
	}
}
