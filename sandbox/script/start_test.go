package script

import (
	"reflect"
	"strings"
	"testing"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"
)

// everyStatement has all kinds of statements and expressions that the interpreter's parser knows.
const everyStatement = `(function (Keep) {
;{ }
label: for (;;) { break label; continue label }
do { debugger } while (1)
while (1) break
for (var i = 0, j; i < 1; i++) ;
for (let k = 0; ;) break
for (k = 0; ;) break
for (const k in {}) ;
for (k of []) ;
for (var k of []) ;
if (1) ; else if ((2)) { } else ;
switch (1) { case 1: default: }
try { throw 1 } catch (e) { } finally { }
try { } catch { }
with (Keep) { }
var a = 1, [b, , ...c] = [], { d, e: f = 1, ...g } = {}
let l = 1; const m = 2;
function n(p = 1, { q }, ...r) { return }
async function o() { await (async () => 1)(); return 1 }
function* s() { yield; yield* s() }
class t extends n { static { } static u = 1; #v = 2; w() { return this.#v + super.w() } get x() { return new.target } [y]() { } }
a = (b ? c : d, e)
a ?? b?.c?.[d]?.(e)
!a; a++; typeof b
new n(...c);
` + "`x${a}y`; n`z`" + `
;[1, , 2n, true, null, /x/u, "s", ...c]
;({ a, b: 1, ["c"]: 2, get d() { return 1 }, *e() { }, ...f });
;(class { }); (function () { }); (x) => x, async (x) => { }
this
})`

// TestStart: every part of a script has a place, and none lies before the part it is in.
func TestStart(t *testing.T) {
	t.Parallel()
	tree, err := goja.Parse("every.js", everyStatement, parser.WithDisableSourceMaps)
	if err != nil {
		t.Fatal(err)
	}
	in := Inspect(tree)
	kinds := make(map[string]bool)
	for _, statement := range in.Body {
		outer := in.Start(statement)
		Walk(statement, func(n ast.Node) bool {
			kind := reflect.TypeOf(n).String()
			kinds[kind] = true
			at := in.Start(n)
			if at < outer {
				t.Errorf("%s at %d, in a statement at %d", kind, at, outer)
			}
			if branch, ok := n.(*ast.IfStatement); ok && !strings.HasPrefix(everyStatement[int(at)-tree.File.Base():],
				"if (") {
				t.Errorf("an if at %d, its condition at %d", at, in.Start(branch.Test))
			}
			return true
		})
	}
	for _, kind := range []string{"*ast.IfStatement", "*ast.WithStatement", "*ast.LabelledStatement",
		"*ast.ClassStaticBlock", "*ast.OptionalChain", "*ast.MetaProperty", "*ast.YieldExpression"} {
		if !kinds[kind] {
			t.Errorf("no %s was looked at", kind)
		}
	}
}
