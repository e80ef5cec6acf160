package globals

import (
	"fmt"
	"sync"

	"github.com/dop251/goja"
)

// compiledSource is a script of our own: one function expression.
type compiledSource func() (*goja.Program, error)

func source(name string, source *string) compiledSource {
	return sync.OnceValues(func() (*goja.Program, error) { return goja.Compile("<"+name+">", *source, true) })
}

// builtin runs a script of our own in the runtime, calls its function, and returns what it answers if
// that is an object.
func (s *setup) builtin(p compiledSource, args ...goja.Value) *goja.Object {
	compiled, err := p()
	if err != nil {
		panic(fmt.Errorf("compile a built-in script: %w", err))
	}
	v, err := s.rt.RunProgram(compiled)
	s.must(err)
	run, ok := goja.AssertFunction(v)
	if !ok {
		panic("a built-in script is not a function")
	}
	v, err = run(goja.Undefined(), args...)
	s.must(err)
	object, _ := v.(*goja.Object)
	return object
}

// once makes a value of the runtime at its first use.
func (s *setup) once(make func() *goja.Object) func() *goja.Object {
	var made *goja.Object
	return func() *goja.Object {
		if made == nil {
			made = make()
		}
		return made
	}
}

// lazily defines a global that is made when it is first read.
func (s *setup) lazily(name string, make func() goja.Value) {
	global := s.rt.GlobalObject()
	define := func(v goja.Value) {
		s.must(global.DefineDataProperty(name, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	}
	get := s.native(func(goja.FunctionCall) goja.Value {
		v := make()
		define(v)
		return v
	})
	set := s.native(func(call goja.FunctionCall) goja.Value {
		define(call.Argument(0))
		return goja.Undefined()
	})
	s.must(global.DefineAccessorProperty(name, get, set, goja.FLAG_TRUE, goja.FLAG_FALSE))
}

// method adds a method to the prototype of a class.
func (s *setup) method(class, name string, f func(goja.FunctionCall) goja.Value) {
	prototype := s.rt.Get(class).ToObject(s.rt).Get("prototype").ToObject(s.rt)
	s.must(prototype.DefineDataProperty(name, s.native(f), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
}

// texts is an array of strings.
func (s *setup) texts(list []string) goja.Value {
	values := make([]any, len(list))
	for i, text := range list {
		values[i] = text
	}
	return s.rt.NewArray(values...)
}

// rangeError is an error of that class of the language.
func (s *setup) rangeError(message string) goja.Value {
	class, ok := s.rt.Get("RangeError").(*goja.Object)
	if !ok {
		return s.rt.NewTypeError(message) // the script took the class away
	}
	e, err := s.rt.New(class, s.rt.ToValue(message))
	s.must(err)
	return e
}
