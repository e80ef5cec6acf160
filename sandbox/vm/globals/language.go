package globals

import (
	"strings"
	"unicode/utf16"

	"github.com/dop251/goja"
)

// queueMicrotask runs a function after the current one. An error that it throws is noticed like the failure of
// a promise that no code awaits.
func (s *setup) queueMicrotask(call goja.FunctionCall) goja.Value {
	f := call.Argument(0)
	if _, ok := goja.AssertFunction(f); !ok {
		panic(s.rt.NewTypeError("queueMicrotask needs a function"))
	}
	p, resolve, _ := s.rt.NewPromise()
	s.must(resolve(goja.Undefined()))
	settled, ok := s.rt.ToValue(p).(*goja.Object)
	if !ok {
		return goja.Undefined()
	}
	then, ok := goja.AssertFunction(settled.Get("then"))
	if !ok {
		panic(s.rt.NewTypeError("promises have no method then any more"))
	}
	// Without arguments, as the standard says.
	_, err := then(settled, s.native(func(goja.FunctionCall) goja.Value {
		run, ok := goja.AssertFunction(f)
		if !ok {
			return goja.Undefined()
		}
		_, err := run(goja.Undefined())
		s.must(err)
		return goja.Undefined()
	}))
	s.must(err)
	return goja.Undefined()
}

// symbols adds the well-known symbols that the transformer's helpers otherwise take from the registry.
func (s *setup) symbols() {
	symbol := s.rt.Get("Symbol").ToObject(s.rt)
	registry, ok := goja.AssertFunction(symbol.Get("for"))
	if !ok {
		return
	}
	for _, name := range []string{"asyncIterator", "dispose", "asyncDispose"} {
		v, err := registry(symbol, s.rt.ToValue("Symbol."+name))
		s.must(err)
		s.must(symbol.DefineDataProperty(name, v, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE))
	}
}

// units are the UTF-16 code units of a method's receiver.
func (s *setup) units(call goja.FunctionCall, method string) (text goja.String) {
	if goja.IsUndefined(call.This) || goja.IsNull(call.This) {
		panic(s.rt.NewTypeError("String.prototype.%s of null or undefined", method))
	}
	text, ok := call.This.ToString().(goja.String)
	if !ok {
		panic(s.rt.NewTypeError("String.prototype.%s needs a string", method))
	}
	return text
}

// lone reports a surrogate without its other half.
func lone(text goja.String, i int) bool {
	c := rune(text.CharAt(i))
	switch {
	case c >= 0xD800 && c < 0xDC00:
		return i+1 >= text.Length() || utf16.DecodeRune(c, rune(text.CharAt(i+1))) == '\uFFFD'
	case c >= 0xDC00 && c < 0xE000:
		return i == 0 || utf16.DecodeRune(rune(text.CharAt(i-1)), c) == '\uFFFD'
	}
	return false
}

func (s *setup) isWellFormed(call goja.FunctionCall) goja.Value {
	text := s.units(call, "isWellFormed")
	for i := range text.Length() {
		if lone(text, i) {
			return s.rt.ToValue(false)
		}
	}
	return s.rt.ToValue(true)
}

func (s *setup) toWellFormed(call goja.FunctionCall) goja.Value {
	// Decoding replaces lone surrogates.
	return s.rt.ToValue(strings.Clone(s.units(call, "toWellFormed").String()))
}

// captureStackTrace gives an object the stack of this place.
func (s *setup) captureStackTrace(call goja.FunctionCall) goja.Value {
	target, ok := call.Argument(0).(*goja.Object)
	if !ok {
		panic(s.rt.NewTypeError("Error.captureStackTrace needs an object"))
	}
	e, err := s.rt.New(s.rt.Get("Error").ToObject(s.rt))
	s.must(err)
	stack := goja.Value(s.rt.ToValue(""))
	if v := e.Get("stack"); v != nil {
		stack = v
	}
	s.must(target.DefineDataProperty("stack", stack, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	return goja.Undefined()
}
