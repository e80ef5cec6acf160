package sandbox

// program is a compiled script with what each of its runtimes needs.
type program struct {
	*script
	// extras are the globals that the text names and goja lacks or gets wrong.
	extras extra
	// reachesGlobal tells that the program could get hold of the global object.
	reachesGlobal bool
}

// prepare compiles a source and finds out what its runtimes need. What its text shows must not outlive the
// static analysis.
func prepare(source Source, limit int) (*program, *inspection, []Problem) {
	compiled, in, problems := compile(source, limit)
	if compiled == nil {
		return nil, nil, problems
	}
	// The names of free variables decide which extras a runtime gets; looking at the generated text
	// may install one too many, never one too few for a name that is written out.
	extras := extrasOf(in.code)
	return &program{script: compiled, extras: extras, reachesGlobal: reachesGlobal(in, extras)}, in, problems
}
