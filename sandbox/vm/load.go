package vm

import (
	"errors"

	"github.com/dop251/goja"

	"github.com/pawl-run/pawl/sandbox"
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

// counting is the function behind countMark: it counts how often a statement runs.
func (s *session) counting() goja.Value {
	s.runs = make([]int, len(s.script.Counts))
	return s.native(func(call goja.FunctionCall) goja.Value {
		if n := call.Argument(0).ToInteger(); n >= 0 && n < int64(len(s.runs)) {
			s.runs[n]++
		}
		return goja.Undefined()
	})
}

// counts are how often the counted statements have run.
func (s *session) counts() []sandbox.Count {
	if len(s.runs) == 0 {
		return nil
	}
	counts := make([]sandbox.Count, len(s.runs))
	for i, runs := range s.runs {
		counts[i] = sandbox.Count{Place: s.script.Counts[i], Runs: runs}
	}
	return counts
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
	arguments := []goja.Value{global, global}
	if s.script.MarksThrows {
		arguments = append(arguments, s.throwing())
	}
	if len(s.script.Counts) > 0 {
		arguments = append(arguments, s.counting())
	}
	return run(goja.Undefined(), arguments...)
}
