package sandbox

import (
	"fmt"
	"slices"

	"github.com/dop251/goja/ast"
)

// kind names what an expression certainly is: text, number, flag, null, undefined, array, object,
// function or pattern; empty where the text does not show it.
func (in *inspection) kind(e ast.Expression) string {
	switch x := in.resolve(e).(type) {
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
		if id, ok := e.(*ast.Identifier); ok && id.Name.String() == "undefined" && in.refers[id] == nil {
			return "undefined"
		}
	}
	return ""
}

// numeric reports whether an expression is certainly a number: a literal, a clock's reading, or what
// is computed from numbers.
func (in *inspection) numeric(e ast.Expression) bool { return in.numericTo(e, 10) }

// numericTo follows so many sums: a name may stand for a sum of itself.
func (in *inspection) numericTo(e ast.Expression, depth int) bool {
	switch x := in.resolve(e).(type) {
	case *ast.NumberLiteral:
		return true
	case *ast.CallExpression:
		_, name, _, ok := splitProperty(x.Callee)
		return ok && (name == "now" || name == "getTime" || name == "valueOf")
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

// never says what an expression is where that is certainly none of the kinds; empty otherwise.
func (in *inspection) never(e ast.Expression, kinds ...string) string {
	kind := in.kind(e)
	if kind == "" || slices.Contains(kinds, kind) {
		return ""
	}
	return in.show(e)
}

// notObject is never for an object of parameters; undefined stands for none, and a regular expression
// is an object too.
func (in *inspection) notObject(e ast.Expression) string {
	return in.never(e, "object", "undefined", "pattern")
}

// show describes an expression for a message.
func (in *inspection) show(e ast.Expression) string {
	switch kind := in.kind(e); kind {
	case "text":
		if text, known := in.text(e); known {
			return fmt.Sprintf("the text %q", clip(text, 60))
		}
		return "a text"
	case "number":
		if n, ok := in.resolve(e).(*ast.NumberLiteral); ok {
			return "the number " + clip(n.Literal, 20)
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

// fixed reports whether an expression is a literal, or a name for one that is only read elsewhere: whoever
// is given an object may change it.
func (in *inspection) fixed(e ast.Expression) bool {
	id, ok := e.(*ast.Identifier)
	if !ok {
		return true
	}
	v := in.refers[id]
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

// source shows a short expression of names and dots as the author wrote it.
func (in *inspection) source(e ast.Expression) string {
	switch x := bare(e).(type) {
	case *ast.Identifier:
		return clip(x.Name.String(), 60)
	case *ast.DotExpression:
		return clip(in.source(x.Left)+"."+x.Identifier.Name.String(), 120)
	}
	return "event.messageId"
}
