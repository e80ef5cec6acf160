package vm

import (
	"errors"

	"github.com/dop251/goja"

	"github.com/pawl-run/pawl/sandbox/vm/globals"
)

// throwing is the function behind throwMark: it remembers where the last value was thrown.
func (s *session) throwing() goja.Value {
	return s.native(func(call goja.FunctionCall) goja.Value {
		s.alive()
		s.lastThrown.value, s.lastThrown.frames = call.Argument(0), s.frames()
		return call.Argument(0)
	})
}

// load runs the script's top-level code and returns its default export, which may be anything.
func (s *session) load(global goja.Value) (goja.Value, error) {
	if err := s.script.extras.Install(s.rt, globals.Sources{Console: s.console, Random: s.random}); err != nil {
		return nil, err
	}
	wrapper, err := s.rt.RunProgram(s.script.Program)
	if err != nil {
		return nil, err
	}
	run, ok := goja.AssertFunction(wrapper)
	if !ok {
		return nil, errors.New("the compiled script is not a function")
	}
	if !s.script.MarksThrows {
		return run(goja.Undefined(), global, global)
	}
	return run(goja.Undefined(), global, global, s.throwing())
}
