package script

import (
	"regexp"
	"slices"
	"testing"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"
)

// TestWalkVisitsEachNodeOnce: whatever a statement or expression is made of, each node of it is visited, and once.
func TestWalkVisitsEachNodeOnce(t *testing.T) {
	t.Parallel()
	tree, err := goja.Parse("every.js", everyName, parser.WithDisableSourceMaps)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[ast.Node]bool{}
	var names []string
	Walk(tree, func(n ast.Node) bool {
		if seen[n] {
			t.Errorf("%T at %d is visited twice", n, n.Idx0())
		}
		seen[n] = true
		if id, ok := n.(*ast.Identifier); ok && numbered.MatchString(id.Name.String()) {
			names = append(names, id.Name.String())
		}
		return true
	})
	slices.Sort(names)
	written := numbered.FindAllString(everyName, -1)
	slices.Sort(written)
	if !slices.Equal(names, written) {
		t.Errorf("visited %v, written are %v", names, written)
	}
}

var numbered = regexp.MustCompile(`\bn\d+\b`)

// everyName has a numbered identifier of its own in each place where there can be one.
const everyName = `
var n01 = n02, { k: n04 = n05, ...n06 } = n07, [n08, , n09 = n10, ...n11] = n12;
let n13 = function n14(n15, { k: n16 }, n17 = n18, ...n19) { return n20 };
const n21 = (n22, n23 = n24) => n25, n26 = async (n27) => { await n28 };
class n29 extends n30 { constructor() { super(n31) } m() { this.n33 } get [n34]() {} static s = n36; #p = n37; static { n38 } }
n39: for (let n40 = n41; n42; n43) { if (n44) { continue n39 } else { break n39 } }
for (const n45 in n46) n47;
for (n48 of n49) n50;
while (n51) n52;
do n53; while (n54);
switch (n55) { case n56: n57; default: n58 }
try { n59 } catch (n60) { n61 } finally { n62 }
throw n63 ? n64 : n65;
n66.n67[n68](n69, ...n70);
n71?.n72?.[n73];
new n74(n75);
n76 = [n77, ...n78];
n79 = { n80, k: n81, [n82]: n83, m() { n84 }, get g() { n85 }, ...n86 };
` + "n87`a${n88}b${n89}`; `${n90}`;" + `
n91++; typeof n92; n93 + n94, n95 && n96;
[n97, { k: n98 }] = n99;
function* n100() { yield n101 }
`
