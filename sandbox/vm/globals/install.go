package globals

import (
	_ "embed"

	"github.com/dop251/goja"
)

// The extras that are easier to say in the script's own language. Each file is one function
// expression that takes the global object.
//
//go:embed js/clone.js
var cloneSource string

//go:embed js/group.js
var groupSource string

//go:embed js/promise.js
var promiseSource string

//go:embed js/regexp.js
var regexpSource string

//go:embed js/async.js
var asyncSource string

// extraPrograms are compiled at their first use and shared by all runtimes.
var extraPrograms = []struct {
	extra   Set
	program compiledSource
}{
	{extraStructuredClone, source("structuredClone", &cloneSource)},
	{extraGroupBy, source("groupBy", &groupSource)},
	{extraPromise, source("Promise", &promiseSource)},
	{extraRegExp, source("RegExp", &regexpSource)},
	{extraFromAsync, source("fromAsync", &asyncSource)},
}

// Install puts the extras into a runtime before any script code runs.
func (e Set) Install(rt *goja.Runtime, from Sources) error {
	if e == 0 {
		return nil
	}
	s := &setup{rt: rt, from: from}
	if ex := s.rt.Try(func() {
		e.natives(s)
		for _, p := range extraPrograms {
			if e&p.extra != 0 {
				s.builtin(p.program, s.rt.GlobalObject())
			}
		}
	}); ex != nil {
		return ex
	}
	return nil
}

func (e Set) natives(s *setup) {
	set := func(on *goja.Object, name string, v any) { s.must(on.Set(name, v)) }
	global := s.rt.GlobalObject()
	if e&Console != 0 {
		set(global, "console", s.from.Console())
	}
	if e&extraText != 0 {
		set(global, "TextEncoder", s.textEncoder)
		set(global, "TextDecoder", s.textDecoder)
	}
	if e&extraBase64 != 0 {
		set(global, "btoa", s.btoa)
		set(global, "atob", s.atob)
	}
	if e&extraCrypto != 0 {
		crypto := s.rt.NewObject()
		set(crypto, "randomUUID", func(goja.FunctionCall) goja.Value { return s.rt.ToValue(s.randomUUID()) })
		set(global, "crypto", crypto)
	}
	if e&(extraLocale|extraCompare) != 0 {
		s.locales(e)
	}
	if e&extraIterator != 0 {
		s.iterators()
	}
	if e&extraURL != 0 {
		s.addresses()
	}
	if e&extraMicrotask != 0 {
		set(global, "queueMicrotask", s.queueMicrotask)
	}
	if e&extraSymbols != 0 {
		s.symbols()
	}
	if e&extraWellFormed != 0 {
		s.method("String", "isWellFormed", s.isWellFormed)
		s.method("String", "toWellFormed", s.toWellFormed)
	}
	if e&extraStackTrace != 0 {
		set(s.rt.Get("Error").ToObject(s.rt), "captureStackTrace", s.captureStackTrace)
	}
}
