package script

import (
	"github.com/dop251/goja/ast"
)

// Function is the parameters and body of a Function literal of either kind.
func Function(e ast.Expression) (params *ast.ParameterList, body ast.Node, ok bool) {
	switch f := e.(type) {
	case *ast.FunctionLiteral:
		return f.ParameterList, f.Body, true
	case *ast.ArrowFunctionLiteral:
		return f.ParameterList, f.Body, true
	}
	return nil, nil, false
}

// IsAsync reports whether a call of the function gives a promise.
func IsAsync(e ast.Expression) bool {
	switch f := e.(type) {
	case *ast.FunctionLiteral:
		return f.Async
	case *ast.ArrowFunctionLiteral:
		return f.Async
	}
	return false
}
