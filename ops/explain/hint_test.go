package explain

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/sandbox"
)

// TestEveryHintHasAText: each code has one text, and each place in the source that gives a hint gives the values that
// the text names.
func TestEveryHintHasAText(t *testing.T) {
	t.Parallel()
	codes := codesOf(t)
	given := map[string]bool{}
	for _, folder := range []string{"../../engine", "../../engine/decide", "../../engine/deploy", ".."} {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no source in %s: %v", folder, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			parsed, err := parser.ParseFile(set, file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				method, _ := call.Fun.(*ast.SelectorExpr)
				if method == nil || method.Sel.Name != "hint" && fmt.Sprint(method.X, ".", method.Sel) != "hint.Of" {
					return true
				}
				name, ok := call.Args[0].(*ast.SelectorExpr)
				if !ok || fmt.Sprint(name.X) != "hint" {
					return true // a code that was chosen elsewhere is handed on
				}
				given[name.Sel.Name] = true
				code, ok := codes[name.Sel.Name]
				values := slices.Repeat([]any{"V"}, len(call.Args)-1)
				text := Hint(hint.Of(code, values...))
				if !ok || text == "" || strings.Contains(text, "%!") {
					t.Errorf("%s: the text of %s with %d values is %q", set.Position(call.Pos()), name.Sel.Name, len(values), text)
				}
				return true
			})
		}
	}
	for name, code := range codes {
		if !given[name] {
			t.Errorf("nothing gives the hint %s", name)
		}
		if hints[code] == "" {
			t.Errorf("%s has no text", name)
		}
	}
	if all := slices.Collect(maps.Values(codes)); len(all) != len(hints) {
		t.Errorf("there are %d codes and %d texts", len(all), len(hints))
	}
}

// codesOf reads the codes by their names in package hint; no two are alike.
func codesOf(t *testing.T) map[string]hint.Code {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), "../../engine/hint/code.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes, seen := map[string]hint.Code{}, map[hint.Code]bool{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			value := hint.Code(strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`))
			if seen[value] {
				t.Errorf("two names for %s", value)
			}
			codes[spec.Names[0].Name], seen[value] = value, true
		}
		return true
	})
	if len(codes) < 50 {
		t.Fatalf("only %d codes were found", len(codes))
	}
	return codes
}

// TestProblems_TheTextOfAHint: it stands for a fix, or ends the message of a problem that has one.
func TestProblems_TheTextOfAHint(t *testing.T) {
	t.Parallel()
	told := Problems([]deploy.Problem{
		{Problem: sandbox.Problem{Message: "m", Fix: "f"}},
		{Problem: sandbox.Problem{Message: "m"}, Hint: hint.Of(hint.GrantSecret, "orders", "secret.X")},
		{Problem: sandbox.Problem{Message: "m", Fix: "f"}, Hint: hint.Of(hint.Connectors)},
	})
	want := []sandbox.Problem{
		{Message: "m", Fix: "f"},
		{Message: "m", Fix: "grant it: pawl grants orders secret.X=allow"},
		{Message: "m; `pawl connectors list` shows what there is", Fix: "f"},
	}
	if !slices.Equal(told, want) {
		t.Errorf("got %+v, want %+v", told, want)
	}
}
