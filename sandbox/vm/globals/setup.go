package globals

import (
	_ "embed"
	"math/rand/v2"

	"github.com/dop251/goja"
)

// Sources are what the globals take from the call that they are made for.
type Sources struct {
	// Console makes the global of that name.
	Console func() goja.Value
	// Random is the call's source of chance.
	Random func() *rand.Rand
}

// setup puts globals into one runtime.
type setup struct {
	rt   *goja.Runtime
	from Sources
}

// native makes a function for scripts.
func (s *setup) native(f func(goja.FunctionCall) goja.Value) goja.Value { return s.rt.ToValue(f) }

// must passes on what a nested call into the runtime ended with.
func (s *setup) must(err error) {
	if err != nil {
		panic(err)
	}
}
