package worker

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/lint/onecall"
)

// TestCodeAfterHasAPlace: whatever the code behind the mutation call is, the warning stands at it.
func TestCodeAfterHasAPlace(t *testing.T) {
	t.Parallel()
	for _, next := range []string{
		"if (r.row > 3) x()", "if ((r.row, r)) { x() }", "if (!r) { x() } else x()", "if (r) ; else x()", "return r",
		"for (;;) x()", "for (const y of r) x(y)",
		"for (const y in r) x(y)", "while (r) x()", "do { x() } while (r)", "switch (r) { case 1: x() }", "throw r",
		"throw new Error(r)", "try { x() } catch { x() }",
		"{ x() }", "const z = r", "var z = r", "function z() { return x() } z()", "class Y { static { x() } } x(Y)",
		"debugger", "label: for (;;) { x(); break label }",
		"x()", "x.y.z(r)", "x ? x(1) : x(2)", "x && x(1)", "!x", "-x", "y++", "++y", "y = r", "[y] = r",
		"`${r}`.at(x(r))", "new x()", "await x()",
		"delete r.x", "void x()", "typeof x(r)", "x?.y()", "x`y`", "this.x()", "x(), x(1)",
	} {
		t.Run(next, func(t *testing.T) {
			t.Parallel()
			source := handlerSource(sandbox.Mutate, "let y; const r = await ctx.csv.appendRow({});\n    "+next)
			_, problems, err := newExecutor(t).Describe(t.Context(), sandbox.Source{Filename: "w.js",
				Code: "const x = Keep;" + source.Code})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range problems {
				if onecall.IsProblem(p) {
					got = append(got, fmt.Sprintf("%s@%d:%d", p.Code, p.Line, p.Column))
				}
			}
			if want := []string{"mutate.codeAfter@2:5"}; !slices.Equal(got, want) {
				t.Errorf("got %v, want %v: %+v", got, want, problems)
			}
		})
	}
}
