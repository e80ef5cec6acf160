package script

import (
	"fmt"
	"slices"

	"github.com/dop251/goja/ast"

	"github.com/pawl-run/pawl/sandbox"
)

// Kind names what an expression certainly is: text, number, flag, null, undefined, array, object,
// function or pattern; empty where the text does not show it.
func (in *Text) Kind(e ast.Expression) string {
	switch x := in.Resolve(e).(type) {
	case *ast.StringLiteral:
		return "text"
	case *ast.TemplateLiteral:
		if x.Tag == nil {
			return "text"
		}
	case *ast.NumberLiteral:
		return "number"
	case *ast.BooleanLiteral:
		return "flag"
	case *ast.NullLiteral:
		return "null"
	case *ast.ArrayLiteral:
		return "array"
	case *ast.ObjectLiteral:
		return "object"
	case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral:
		return "function"
	case *ast.RegExpLiteral:
		return "pattern"
	case *ast.UnaryExpression:
		if x.Operator.String() == "void" {
			return "undefined"
		}
	case nil:
		if id, ok := e.(*ast.Identifier); ok && id.Name.String() == "undefined" && in.Refers[id] == nil {
			return "undefined"
		}
	}
	return ""
}

// Numeric reports whether an expression is certainly a number: a literal, a clock's reading, or what
// is computed from numbers.
func (in *Text) Numeric(e ast.Expression) bool { return in.numericTo(e, 10) }

// numericTo follows so many sums: a name may stand for a sum of itself.
func (in *Text) numericTo(e ast.Expression, depth int) bool {
	switch x := in.Resolve(e).(type) {
	case *ast.NumberLiteral:
		return true
	case *ast.CallExpression:
		left, name, _, ok := SplitProperty(x.Callee)
		return ok && (name == "now" || name == "getTime" || name == "valueOf" ||
			name == "parse" && left != nil && named(left, "Date"))
	case *ast.BinaryExpression:
		switch x.Operator.String() {
		case "-", "*", "/", "%":
			return true
		case "+":
			return depth > 0 && in.numericTo(x.Left, depth-1) && in.numericTo(x.Right, depth-1)
		}
	}
	return false
}

func named(e ast.Expression, name string) bool {
	id, ok := e.(*ast.Identifier)
	return ok && id.Name.String() == name
}

// Never says what an expression is where that is certainly none of the kinds; empty otherwise.
func (in *Text) Never(e ast.Expression, kinds ...string) string {
	kind := in.Kind(e)
	if kind == "" || slices.Contains(kinds, kind) {
		return ""
	}
	return in.Show(e)
}

// NotObject is never for an object of parameters; undefined stands for none, and a regular expression
// is an object too.
func (in *Text) NotObject(e ast.Expression) string {
	return in.Never(e, "object", "undefined", "pattern")
}

// Show describes an expression for a message.
func (in *Text) Show(e ast.Expression) string {
	switch kind := in.Kind(e); kind {
	case "text":
		if text, known := in.TextOf(e); known {
			return fmt.Sprintf("the text %q", sandbox.Clip(text, 60))
		}
		return "a text"
	case "number":
		if n, ok := in.Resolve(e).(*ast.NumberLiteral); ok {
			return "the number " + sandbox.Clip(n.Literal, 20)
		}
		return "a number"
	case "flag":
		return "true or false"
	case "null", "undefined":
		return kind
	case "pattern":
		return "a regular expression"
	case "array", "object":
		return "an " + kind
	case "function":
		return "a function"
	}
	return "something else"
}

// Fixed reports whether an expression is a literal, or a name for one that is only read elsewhere: code that
// is given an object may change it.
func (in *Text) Fixed(e ast.Expression) bool {
	id, ok := e.(*ast.Identifier)
	if !ok {
		return true
	}
	v := in.Refers[id]
	if v == nil {
		return false
	}
	in.examine(v)
	for _, use := range v.loose {
		if use != id {
			return false
		}
	}
	return true
}

// Source shows a short expression of names and dots as the author wrote it.
func (in *Text) Source(e ast.Expression) string {
	switch x := Bare(e).(type) {
	case *ast.Identifier:
		return sandbox.Clip(x.Name.String(), 60)
	case *ast.DotExpression:
		return sandbox.Clip(in.Source(x.Left)+"."+x.Identifier.Name.String(), 120)
	}
	return "event.messageId"
}
