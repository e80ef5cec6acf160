package vm

import (
	"github.com/dop251/goja"
)

// throwing is the function behind throwMark: it remembers where the last value was thrown.
func (s *session) throwing() goja.Value {
	return s.native(func(call goja.FunctionCall) goja.Value {
		s.alive()
		s.lastThrown.value, s.lastThrown.frames = call.Argument(0), s.frames()
		return call.Argument(0)
	})
}

// thrownAt is where a value was thrown, if it was the last one.
func (s *session) thrownAt(v goja.Value) []goja.StackFrame {
	if last := s.lastThrown.value; last == nil || v == nil || !last.SameAs(v) {
		return nil
	}
	return s.lastThrown.frames
}
