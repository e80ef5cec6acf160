package globals

import (
	_ "embed"

	"github.com/dop251/goja"
)

//go:embed js/iterator.js
var iteratorSource string

var iteratorProgram = source("Iterator", &iteratorSource)

var iteratorHelpers = []string{"map", "filter", "take", "drop", "flatMap", "reduce", "toArray", "forEach", "some",
	"every", "find"}

// iterators adds Iterator and the helpers of iterators. Most scripts that make an iterator only loop
// over it: until the first use each helper is a stand-in that iterator.js replaces.
func (s *setup) iterators() {
	list := s.rt.NewArray()
	iterate, ok := goja.AssertFunction(list.GetSymbol(goja.SymIterator))
	if !ok {
		return
	}
	v, err := iterate(list)
	s.must(err)
	prototype := v.ToObject(s.rt).Prototype().Prototype()
	load := s.once(func() *goja.Object { return s.builtin(iteratorProgram, prototype) })
	for _, name := range iteratorHelpers {
		f := s.native(func(call goja.FunctionCall) goja.Value {
			load()
			helper, ok := goja.AssertFunction(prototype.Get(name))
			if !ok {
				panic(s.rt.NewTypeError("Iterator.prototype.%s is no function any more", name))
			}
			v, err := helper(call.This, call.Arguments...)
			s.must(err)
			return v
		})
		s.must(prototype.DefineDataProperty(name, f, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	}
	s.lazily("Iterator", func() goja.Value { return load().Get("Iterator") })
}
