package script

import (
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
)

// SplitProperty splits x.name and x["name"].
func SplitProperty(e ast.Expression) (left ast.Expression, name string, at file.Idx, ok bool) {
	switch e := Bare(e).(type) {
	case *ast.DotExpression:
		return Bare(e.Left), e.Identifier.Name.String(), e.Identifier.Idx, true
	case *ast.BracketExpression:
		if s, ok := e.Member.(*ast.StringLiteral); ok {
			return Bare(e.Left), s.Value.String(), s.Idx, true
		}
	}
	return nil, "", 0, false
}

// Bare takes the question marks of optional chaining off an expression.
func Bare(e ast.Expression) ast.Expression {
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

// Dressed climbs over the question marks of optional chaining around an expression.
func (in *Text) Dressed(e ast.Expression) ast.Expression {
	for {
		switch p := in.Parent(e).(type) {
		case *ast.OptionalChain:
			e = p
		case *ast.Optional:
			e = p
		default:
			return e
		}
	}
}

// MemberOf is the expression that takes a member of e, nil if none does.
func (in *Text) MemberOf(e ast.Expression) ast.Expression {
	switch p := in.Parent(e).(type) {
	case *ast.DotExpression:
		return p
	case *ast.BracketExpression:
		if p.Left == e {
			return p
		}
	case *ast.Optional:
		return in.MemberOf(p)
	}
	return nil
}
