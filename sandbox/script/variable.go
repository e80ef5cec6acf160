package script

import (
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
)

// NameOf is the variable that a function is the value of, nil for none.
func (s *scopes) NameOf(f ast.Expression) *Variable {
	if f == nil {
		return nil
	}
	for _, v := range s.All {
		if v.Value == f {
			return v
		}
	}
	return nil
}

// KeyOf is the member that a declaration const { key } = whole gives a variable; not one of a parameter.
func (s *scopes) KeyOf(v *Variable) (key string, ok bool) {
	_, declaration := v.pattern.(*ast.Binding)
	return v.key, declaration && v.key != ""
}

// OfArrayPattern reports whether a pattern of a list declares a variable: const [first] = list.
func (s *scopes) OfArrayPattern(v *Variable) bool { return v.ofArray }

// Assigned reports whether anything but its declaration gives a variable a value.
func (s *scopes) Assigned(v *Variable) bool {
	for _, id := range v.Uses {
		if s.IsAssigned(id) {
			return true
		}
	}
	return false
}

// AssignedHere is the variable that an assignment gives its one value: it is declared without any, and no other
// assignment changes it. It is nil for any other.
func (s *scopes) AssignedHere(a *ast.AssignExpression) *Variable {
	id, named := a.Left.(*ast.Identifier)
	v := s.Refers[id]
	if !named || v == nil || !v.blank || v.declared > 1 || a.Operator != token.ASSIGN {
		return nil
	}
	for _, use := range v.Uses {
		if use != id && s.IsAssigned(use) {
			return nil
		}
	}
	return v
}

// IsAssigned reports whether an expression is the target of an assignment.
func (s *scopes) IsAssigned(e ast.Expression) bool {
	switch p := s.Parent(e).(type) {
	case *ast.AssignExpression:
		return p.Left == e
	case *ast.UnaryExpression:
		return p.Operator.String() == "++" || p.Operator.String() == "--"
	case *ast.ForIntoExpression, *ast.ArrayPattern, *ast.ObjectPattern:
		return true
	case *ast.PropertyShort:
		_, pattern := s.Parent(p).(*ast.ObjectPattern)
		return pattern
	case *ast.PropertyKeyed:
		_, pattern := s.Parent(p).(*ast.ObjectPattern)
		return pattern && p.Value == e
	}
	return false
}
