package sandbox

import (
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
)

const sharedFix = "keep what must last in the handler's state: return it from next or the producer, which gets it back as its second parameter, like prepare"

// addedGlobals notes the globals that the script makes through globalThis.
func (f *findings) addedGlobals(known map[string]bool) {
	for _, id := range f.in.free {
		member := f.in.memberOf(id)
		if id.Name.String() != "globalThis" || member == nil || !f.in.isAssigned(member) {
			continue
		}
		_, name, at, ok := splitProperty(member)
		if !ok || known[name] {
			continue
		}
		known[name] = true
		if f.in.functionAround(member) != nil {
			f.warn("global.shared", at, sharedFix, "globalThis.%s is set here: every handler call starts without it, so nothing is shared or remembered", clip(name, 100))
		}
	}
}

// changers are methods that change what they are called on.
var changers = []string{"push", "pop", "shift", "unshift", "splice", "sort", "reverse", "fill", "copyWithin", "set", "add", "delete", "clear"}

// shared warns of top-level variables that a function changes: each handler call starts with them anew.
func (f *findings) shared() {
	for _, v := range f.in.all {
		if !v.top || strings.HasPrefix(v.name, "__") {
			continue
		}
		for _, id := range v.uses {
			if f.in.functionAround(id) == nil || !f.changes(id) {
				continue
			}
			f.warn("global.shared", id.Idx, sharedFix,
				"%s is declared outside of the handlers and changed here: every handler call starts with it anew, so nothing is shared or remembered", clip(v.name, 100))
			break
		}
	}
}

// changes reports whether a mention of a variable changes it or what it holds.
func (f *findings) changes(id *ast.Identifier) bool {
	if f.in.isAssigned(id) {
		return true
	}
	var e ast.Expression = f.in.dressed(id)
	for m := f.in.memberOf(e); m != nil; m = f.in.memberOf(e) {
		if f.in.isAssigned(m) {
			return true
		}
		switch p := f.in.parent(m).(type) {
		case *ast.UnaryExpression:
			if p.Operator == token.DELETE {
				return true
			}
		case *ast.CallExpression:
			left, name, _, ok := splitProperty(m)
			return p.Callee == m && ok && slices.Contains(changers, name) && f.isCollection(left)
		}
		e = f.in.dressed(m)
	}
	return false
}

// isCollection tells an array, a Map and the like from an object with methods of the author's.
func (f *findings) isCollection(e ast.Expression) bool {
	switch value := f.in.resolve(e).(type) {
	case *ast.ArrayLiteral:
		return true
	case *ast.NewExpression:
		class, ok := value.Callee.(*ast.Identifier)
		return ok && slices.Contains([]string{"Map", "Set", "WeakMap", "WeakSet", "Array"}, class.Name.String())
	}
	return false
}
