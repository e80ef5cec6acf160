package vm

import (
	"sync"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/script"
	"github.com/pawl-run/pawl/sandbox/vm/globals"
)

// Program is a compiled script with what each of its runtimes needs.
type Program struct {
	*script.Compiled
	// extras are the globals that the text names and goja lacks or gets wrong.
	extras globals.Set
	// ReachesGlobal tells that the program could get hold of the global object.
	ReachesGlobal bool
}

// Prepare compiles a source and finds out what its runtimes need. What its text shows must not outlive the
// static analysis.
func Prepare(source sandbox.Source, limit int) (*Program, *script.Text, []sandbox.Problem) {
	compiled, in, problems := script.Compile(source, limit)
	if compiled == nil {
		return nil, nil, problems
	}
	// The names of free variables decide which extras a runtime gets; looking at the generated text
	// may install one too many, never one too few for a name that is written out.
	extras := globals.Named(in.Code)
	return &Program{Compiled: compiled, extras: extras, ReachesGlobal: reachesGlobal(in, extras)}, in, problems
}

// ownGlobals are the names that every runtime's global object has by itself.
var ownGlobals = sync.OnceValue(func() map[string]bool {
	names := make(map[string]bool)
	for _, name := range goja.New().GlobalObject().GetOwnPropertyNames() {
		names[name] = true
	}
	return names
})

// goError is a global of the interpreter that is no part of the language.
const goError = "GoError"

// reachesGlobal reports whether the program of a script, which has these extras, could get hold of the global object or
// of a property of it that it does not name. There are three ways: globalThis; a name that nothing declares, since an
// accessor that the script puts on Object.prototype is called with the global object as its this; and what an extra
// looks up there. There is no other way: the program is strict, so no function of it has the global object as its this.
// Code that the script makes at run time can reach the global object, and is not looked at here.
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
