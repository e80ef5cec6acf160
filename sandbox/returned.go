package sandbox

import (
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
)

// returned is one expression that a function returns; e is nil for a return of nothing.
type returned struct {
	at file.Idx
	e  ast.Expression
}

// returns are what a function returns as far as the text shows it, both sides of a choice apart.
func (in *inspection) returns(f ast.Expression) []returned {
	var list []returned
	var add func(at file.Idx, e ast.Expression)
	add = func(at file.Idx, e ast.Expression) {
		if choice, ok := e.(*ast.ConditionalExpression); ok {
			add(in.start(choice.Consequent), choice.Consequent)
			add(in.start(choice.Alternate), choice.Alternate)
			return
		}
		list = append(list, returned{at, e})
	}
	_, body, _ := function(f)
	if short, ok := body.(*ast.ExpressionBody); ok {
		add(in.start(short.Expression), short.Expression)
		return list
	}
	walk(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral, *ast.ClassLiteral:
			return false
		case *ast.ReturnStatement:
			add(n.Return, n.Argument)
		}
		return true
	})
	return list
}

// producerHandlers are the names a producer object may give its function.
var producerHandlers = []string{"handler", "run", "poll"}
