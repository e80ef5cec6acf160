package script

import (
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
)

// Return is one expression that a function returns; e is nil for a return of nothing.
type Return struct {
	At    file.Idx
	Value ast.Expression
}

// Returns are what a function Returns as far as the text shows it, both sides of a choice apart.
func (in *Text) Returns(f ast.Expression) []Return {
	var list []Return
	var add func(at file.Idx, e ast.Expression)
	add = func(at file.Idx, e ast.Expression) {
		if choice, ok := e.(*ast.ConditionalExpression); ok {
			add(in.Start(choice.Consequent), choice.Consequent)
			add(in.Start(choice.Alternate), choice.Alternate)
			return
		}
		list = append(list, Return{at, e})
	}
	_, body, _ := Function(f)
	if short, ok := body.(*ast.ExpressionBody); ok {
		add(in.Start(short.Expression), short.Expression)
		return list
	}
	Walk(body, func(n ast.Node) bool {
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

// ProducerHandlers are the names a producer object may give its function.
var ProducerHandlers = []string{"handler", "run", "poll"}
