package vm

import (
	"github.com/dop251/goja"
)

// native makes a function for scripts.
func (s *session) native(f func(goja.FunctionCall) goja.Value) goja.Value { return s.rt.ToValue(f) }

// resolved is a promise that is already fulfilled.
func (s *session) resolved(v goja.Value) goja.Value {
	p, resolve, _ := s.rt.NewPromise()
	s.must(resolve(v))
	return s.rt.ToValue(p)
}

// must passes on what a nested call into the runtime ended with: an interruption or a stack
// overflow stays uncatchable, an exception stays an exception.
func (s *session) must(err error) {
	if err != nil {
		panic(err)
	}
}
