package script

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"

	"github.com/pawl-run/pawl/sandbox"
)

// requireShim is the function that esbuild (seen in 0.28.2) declares in front of a module that mentions require: a
// library that asks `typeof require` would be told that there is one.
var requireShim = regexp.MustCompile(`(?m)^var (__require\d*) = /\* @__PURE__ \*/ \(\(x\) => typeof require !== ` +
	`"undefined"` +
	`(?s:.*?)\n\}\);\n`)

// dropRequireShim removes the shim from generated code and returns the name that stands for require in the rest of
// it; empty where there was none. No line moves.
func dropRequireShim(code string) (rest, name string) {
	at := requireShim.FindStringSubmatchIndex(code)
	if at == nil {
		return code, ""
	}
	lines := strings.Count(code[at[0]:at[1]], "\n")
	return code[:at[0]] + strings.Repeat("\n", lines) + code[at[1]:], code[at[2]:at[3]]
}

// restoreRequire gives back its own name to what stands for require, so that typeof says "undefined" and a call
// ends as that of any name which does not exist.
func restoreRequire(tree *ast.Program, name string) {
	if name == "" {
		return
	}
	for _, statement := range tree.Body {
		Walk(statement, func(n ast.Node) bool {
			if id, ok := n.(*ast.Identifier); ok && id.Name.String() == name {
				id.Name = "require"
			}
			return true
		})
	}
}

// Asked are the names that the script asks for with typeof: it knows that they may not exist.
func (in *Text) Asked() map[string]bool {
	asked := make(map[string]bool)
	for _, id := range in.Free {
		if p, ok := in.Parent(id).(*ast.UnaryExpression); ok && p.Operator == token.TYPEOF {
			asked[id.Name.String()] = true
		}
	}
	return asked
}

// requires refuses calls of require that the script counts on: neither asked for with typeof before nor tried.
func (in *Text) requires() []sandbox.Problem {
	if in.Asked()["require"] {
		return nil
	}
	var problems []sandbox.Problem
	for _, id := range in.Free {
		call, ok := in.Parent(id).(*ast.CallExpression)
		if !ok || id.Name.String() != "require" || call.Callee != id || len(call.ArgumentList) == 0 || in.tried(call) {
			continue
		}
		if path, ok := call.ArgumentList[0].(*ast.StringLiteral); ok {
			message := sandbox.Clip(fmt.Sprintf("%s: %q is not available", importRefused, path.Value.String()),
				sandbox.MaxMessage)
			if p := sandbox.NewProblem("script.import", in.Position(path.Idx), message, importFix); !slices.Contains(
				problems, p) {
				problems = append(problems, p)
			}
		}
	}
	return problems
}

// tried reports whether the node stands in the block of a try statement that catches.
func (in *Text) tried(n ast.Node) bool {
	for inner := n; inner != nil; inner = in.Parent(inner) {
		if try, ok := in.Parent(inner).(*ast.TryStatement); ok && try.Catch != nil && ast.Node(try.Body) == inner {
			return true
		}
	}
	return false
}
