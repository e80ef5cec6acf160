package vm

import (
	"sync"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"

	"github.com/pawl-run/pawl/sandbox/script"
	"github.com/pawl-run/pawl/sandbox/vm/globals"
)

// ownGlobals are the names that every runtime's global object has by itself.
var ownGlobals = sync.OnceValue(func() map[string]bool {
	names := make(map[string]bool)
	for _, name := range goja.New().GlobalObject().GetOwnPropertyNames() {
		names[name] = true
	}
	return names
})

// reachesGlobal reports whether the program of a script, which has these extras, could get hold of the
// global object or of a property of it that it does not name. It could through globalThis; through a
// name that nothing declares, since an accessor that the script puts on Object.prototype is called
// with the global object as its this; and through what an extra looks up there. It cannot otherwise:
// the program is strict, so that no function of it has the global object for its this. Code that the
// script makes at run time can, and is not looked at here.
func reachesGlobal(in *script.Text, extras globals.Set) bool {
	if extras&^globals.Console != 0 {
		return true
	}
	bound := func(id *ast.Identifier) bool {
		switch name := id.Name.String(); name {
		case "globalThis", goError:
			return false
		case script.Global, script.OldGlobal, "arguments":
			return true
		case "console":
			return extras&globals.Console != 0
		default:
			return ownGlobals()[name]
		}
	}
	for _, id := range in.Free {
		if !bound(id) {
			return true
		}
	}
	for id := range in.Refers {
		// A default value does not see what the body declares, which resolving names ignores.
		if !bound(id) && isInParameters(in, id) {
			return true
		}
	}
	return false
}

func isInParameters(in *script.Text, n ast.Node) bool {
	for ; n != nil; n = in.Parent(n) {
		if _, ok := n.(*ast.ParameterList); ok {
			return true
		}
	}
	return false
}

// goError is a global of the interpreter that is no part of the language.
const goError = "GoError"

// hideGoError takes it away. It is made when it is first touched, also to be deleted, which costs as
// much as a small handler; so this is done when something could find it: before a program that
// reaches the global object, and before code that a script makes at run time.
func (s *session) hideGoError() {
	if s.goErrorHidden {
		return // what is there now is the script's own
	}
	s.goErrorHidden = true
	s.must(s.rt.GlobalObject().Delete(goError))
}

// before makes an option of the interpreter's parser that does something else first.
func before[O any](do func(), option func(O)) func(O) {
	return func(options O) {
		do()
		option(options)
	}
}

// globals are the names of a runtime's global object.
func (s *session) globals() []string {
	var names []string
	// The script may have put anything in the place of the prototype.
	if ex := s.rt.Try(func() {
		s.hideGoError()
		for o := s.rt.GlobalObject(); o != nil; o = o.Prototype() {
			names = append(names, o.GetOwnPropertyNames()...)
		}
	}); ex != nil {
		return nil
	}
	return names
}
