package script

import (
	"github.com/dop251/goja/ast"
)

// throwMark is the wrapper's parameter that each throw of something other than a new error calls with
// what it throws: of an exception that leaves an async function the interpreter keeps the value alone,
// and only errors know where they were made. No script can write this name.
const throwMark = "throw mark"

// markThrows makes the throws of a tree call throwMark, and reports whether there are any. The tree is
// also what the script's problems are found in: undo makes it again what was written.
func markThrows(tree *ast.Program) (marked bool, undo func()) {
	undo = func() {}
	wrapper := wrapperOf(tree)
	if wrapper == nil {
		return false, undo
	}
	written := make(map[*ast.ThrowStatement]ast.Expression)
	Walk(wrapper.Body, func(n ast.Node) bool {
		if throw, ok := n.(*ast.ThrowStatement); ok {
			if _, fresh := throw.Argument.(*ast.NewExpression); !fresh {
				written[throw] = throw.Argument
			}
		}
		return true
	})
	if len(written) == 0 {
		return false, undo
	}
	for throw, argument := range written {
		throw.Argument = &ast.CallExpression{
			Callee:          &ast.Identifier{Name: throwMark, Idx: throw.Throw},
			LeftParenthesis: throw.Throw, ArgumentList: []ast.Expression{argument}, RightParenthesis: throw.Throw,
		}
	}
	parameters := wrapper.ParameterList.List
	wrapper.ParameterList.List = append(parameters[:len(parameters):len(parameters)],
		&ast.Binding{Target: &ast.Identifier{Name: throwMark, Idx: wrapper.ParameterList.Closing}})
	return true, func() {
		wrapper.ParameterList.List = parameters
		for throw, argument := range written {
			throw.Argument = argument
		}
	}
}
