package sandbox

import (
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
)

// splitProperty splits x.name and x["name"].
func splitProperty(e ast.Expression) (left ast.Expression, name string, at file.Idx, ok bool) {
	switch e := bare(e).(type) {
	case *ast.DotExpression:
		return bare(e.Left), e.Identifier.Name.String(), e.Identifier.Idx, true
	case *ast.BracketExpression:
		if s, ok := e.Member.(*ast.StringLiteral); ok {
			return bare(e.Left), s.Value.String(), s.Idx, true
		}
	}
	return nil, "", 0, false
}

// bare takes the question marks of optional chaining off an expression.
func bare(e ast.Expression) ast.Expression {
	for {
		switch x := e.(type) {
		case *ast.OptionalChain:
			e = x.Expression
		case *ast.Optional:
			e = x.Expression
		default:
			return e
		}
	}
}

// dressed climbs over the question marks of optional chaining around an expression.
func (in *inspection) dressed(e ast.Expression) ast.Expression {
	for {
		switch p := in.parent(e).(type) {
		case *ast.OptionalChain:
			e = p
		case *ast.Optional:
			e = p
		default:
			return e
		}
	}
}

// memberOf is the expression that takes a member of e, nil if none does.
func (in *inspection) memberOf(e ast.Expression) ast.Expression {
	switch p := in.parent(e).(type) {
	case *ast.DotExpression:
		return p
	case *ast.BracketExpression:
		if p.Left == e {
			return p
		}
	case *ast.Optional:
		return in.memberOf(p)
	}
	return nil
}
