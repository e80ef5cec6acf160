package ops

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// refusals are the functions that begin a problem, and the place of its code among their arguments.
var refusals = map[string]int{"Problemf": 1, "Malformed": 0, "refuse": 1}

// hintMethods give a problem, or a refusal, its hint.
var hintMethods = map[string]bool{"WithHint": true, "hint": true}

// TestEveryProblemHasAHint: wherever a problem or a refusal is made, it says what to do.
func TestEveryProblemHasAHint(t *testing.T) {
	t.Parallel()
	made := map[string]bool{}
	for _, folder := range []string{".", "auth", "explain", "ingress", "logread", "metrics", "replay", "rpc", "../engine",
		"../engine/decide"} {
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
			for _, m := range problemsMade(parsed) {
				made[m.code] = true
				if !m.hinted {
					t.Errorf("%s: %s is made without a hint", set.Position(m.at), m.code)
				}
			}
		}
	}
	// The walk finds what there is, each way of making one included.
	for _, code := range []string{"position.invalid", "query.invalid", "mutation.state", "job.state", "workflow.archived",
		"origin.forbidden", "transition.tooLarge", "workflow.stopped"} {
		if !made[code] {
			t.Errorf("the walk did not come by %s: %v", code, made)
		}
	}
}

type madeProblem struct {
	code   string
	at     token.Pos
	hinted bool
}

// problemsMade finds every place in the file that makes a problem.
func problemsMade(file *ast.File) []madeProblem {
	var made []madeProblem
	var path []ast.Node
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			path = path[:len(path)-1]
			return true
		}
		path = append(path, n)
		switch n := n.(type) {
		case *ast.CallExpr:
			name := ""
			switch fun := n.Fun.(type) {
			case *ast.Ident:
				name = fun.Name
			case *ast.SelectorExpr:
				if of, ok := fun.X.(*ast.Ident); ok && of.Name == "rpc" {
					name = fun.Sel.Name
				}
			}
			if place, ok := refusals[name]; ok && !within(path, refusals) {
				made = append(made, madeProblem{codeIn(n.Args[place]), n.Pos(), hintedAt(path)})
			}
		case *ast.CompositeLit:
			fields := fieldsOf(n)
			if fields["Code"] != nil && fields["Kind"] != nil && !within(path, refusals) { // a decide.Refusal
				made = append(made, madeProblem{codeIn(fields["Code"]), n.Pos(), fields["Hint"] != nil})
			}
		}
		return true
	})
	return made
}

// within says whether the innermost function declaration is one that makes problems itself.
func within(path []ast.Node, names map[string]int) bool {
	for i := len(path) - 1; i >= 0; i-- {
		if f, ok := path[i].(*ast.FuncDecl); ok {
			_, ok := names[f.Name.Name]
			return ok
		}
	}
	return false
}

func fieldsOf(literal *ast.CompositeLit) map[string]ast.Expr {
	fields := map[string]ast.Expr{}
	for _, element := range literal.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			fields[fmt.Sprint(pair.Key)] = pair.Value
		}
	}
	return fields
}

// codeIn reads a code; known constants stand for themselves.
func codeIn(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil {
			return text
		}
	case *ast.Ident:
		switch e.Name {
		case "CodeJobState":
			return "job.state"
		case "CodeOrigin":
			return "origin.forbidden"
		}
		return e.Name
	}
	return fmt.Sprint(e)
}

// hintedAt says whether the call at the path's end is given a hint: in the same expression, or
// through the variable that it is assigned to.
func hintedAt(path []ast.Node) bool {
	i := len(path) - 1
	for ; i >= 2; i -= 2 { // x.method(…) is a call of a selector
		selector, ok := path[i-1].(*ast.SelectorExpr)
		if !ok {
			break
		}
		if hintMethods[selector.Sel.Name] {
			return true
		}
	}
	assigned, ok := path[i-1].(*ast.AssignStmt)
	if !ok || len(assigned.Lhs) != 1 {
		return false
	}
	name := fmt.Sprint(assigned.Lhs[0])
	hinted := false
	for ; i >= 0; i-- {
		function, ok := path[i].(*ast.FuncDecl)
		if !ok {
			continue
		}
		ast.Inspect(function, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if ok && fmt.Sprint(selector.X) == name && hintMethods[selector.Sel.Name] {
				hinted = true
			}
			return !hinted
		})
	}
	return hinted
}
