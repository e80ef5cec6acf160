package vm

import (
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
