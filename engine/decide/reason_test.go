package decide_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/pawl-run/pawl/engine/decide"
)

// Every reason that is declared has a meaning, and all but an open call are listed.
func TestEveryReasonHasAMeaning(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "reason.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[decide.Reason]bool{decide.ReasonCall: true}
	for _, r := range decide.Reasons() {
		listed[r] = true
	}
	declared := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		kind, ok := spec.Type.(*ast.Ident)
		if !ok || kind.Name != "Reason" {
			return true
		}
		text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		declared++
		if r := decide.Reason(text); r.Meaning() == 0 || !listed[r] {
			t.Errorf("%s has meaning %d, listed %v", spec.Names[0].Name, r.Meaning(), listed[r])
		}
		return true
	})
	if declared != len(listed) {
		t.Errorf("%d reasons are declared, %d listed", declared, len(listed))
	}
	if decide.Reason("unheard of").Meaning() != 0 {
		t.Error("a reason that does not exist has a meaning")
	}
}
