package global

import (
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/script"
)

const sharedFix = "keep what must last in the handler's state: return it from next or the producer, which gets it " +
	"back as its second parameter, like prepare"

// addedGlobals notes the globals that the script makes through globalThis.
func (f globals) addedGlobals(known map[string]bool) {
	for _, id := range f.In.Free {
		member := f.In.MemberOf(id)
		if id.Name.String() != "globalThis" || member == nil || !f.In.IsAssigned(member) {
			continue
		}
		_, name, at, ok := script.SplitProperty(member)
		if !ok || known[name] {
			continue
		}
		known[name] = true
		if f.In.FunctionAround(member) != nil {
			f.Warn("global.shared", at, sharedFix,
				"globalThis.%s is set here: every handler call starts without it, so nothing is shared or remembered",
				sandbox.Clip(name, 100))
		}
	}
}

// changers are methods that change what they are called on.
var changers = []string{"push", "pop", "shift", "unshift", "splice", "sort", "reverse", "fill", "copyWithin", "set",
	"add", "delete", "clear"}

// shared warns of top-level variables that a function changes: each handler call starts with them anew.
func (f globals) shared() {
	for _, v := range f.In.All {
		if !v.Top || strings.HasPrefix(v.Name, "__") {
			continue
		}
		for _, id := range v.Uses {
			if f.In.FunctionAround(id) == nil || !f.changes(id) {
				continue
			}
			f.Warn("global.shared", id.Idx, sharedFix,
				"%s is declared outside of the handlers and changed here: every handler call starts with it anew, so "+
					"nothing is shared or remembered", sandbox.Clip(v.Name, 100))
			break
		}
	}
}

// changes reports whether a mention of a variable changes it or what it holds.
func (f globals) changes(id *ast.Identifier) bool {
	if f.In.IsAssigned(id) {
		return true
	}
	var e ast.Expression = f.In.Dressed(id)
	for m := f.In.MemberOf(e); m != nil; m = f.In.MemberOf(e) {
		if f.In.IsAssigned(m) {
			return true
		}
		switch p := f.In.Parent(m).(type) {
		case *ast.UnaryExpression:
			if p.Operator == token.DELETE {
				return true
			}
		case *ast.CallExpression:
			left, name, _, ok := script.SplitProperty(m)
			return p.Callee == m && ok && slices.Contains(changers, name) && f.isCollection(left)
		}
		e = f.In.Dressed(m)
	}
	return false
}

// isCollection tells an array, a Map and the like from an object with methods of the author's.
func (f globals) isCollection(e ast.Expression) bool {
	switch value := f.In.Resolve(e).(type) {
	case *ast.ArrayLiteral:
		return true
	case *ast.NewExpression:
		class, ok := value.Callee.(*ast.Identifier)
		return ok && slices.Contains([]string{"Map", "Set", "WeakMap", "WeakSet", "Array"}, class.Name.String())
	}
	return false
}
