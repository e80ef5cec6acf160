package globals

import (
	"github.com/pawl-run/pawl/sandbox/vm/value"

	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/dop251/goja"

	"github.com/pawl-run/pawl/sandbox/vm/globals/intl"
)

//go:embed js/intl.js
var intlSource string

var intlProgram = source("Intl", &intlSource)

// localeMethods are the methods of the language that depend on a locale, and what intl.js calls them.
var localeMethods = []struct{ class, method, name string }{
	{"Number", "toLocaleString", "number"},
	{"BigInt", "toLocaleString", "big"},
	{"Array", "toLocaleString", "list"},
	{"Date", "toLocaleString", "date"},
	{"Date", "toLocaleDateString", "day"},
	{"Date", "toLocaleTimeString", "clock"},
	{"String", "toLocaleUpperCase", "upper"},
	{"String", "toLocaleLowerCase", "lower"},
}

// locales replaces what the interpreter answers wrongly, and adds Intl. intl.js is run at the first
// use; what the script changed before may only harm the script itself, in whose runtime it is.
func (s *setup) locales(e Set) {
	load := s.once(func() *goja.Object {
		return s.builtin(intlProgram, s.native(s.formatter), s.native(s.optionNames), s.native(s.supported))
	})
	call := func(name string, args ...goja.Value) goja.Value {
		run, ok := goja.AssertFunction(load().Get(name))
		if !ok {
			panic(s.rt.NewTypeError("%s is not available", name))
		}
		v, err := run(goja.Undefined(), args...)
		s.must(err)
		return v
	}
	if e&extraCompare != 0 {
		plain, _ := goja.AssertFunction(s.rt.Get("String").ToObject(s.rt).Get("prototype").ToObject(s.rt).Get(
			"localeCompare"))
		s.method("String", "localeCompare", func(c goja.FunctionCall) goja.Value {
			if goja.IsUndefined(c.Argument(1)) && goja.IsUndefined(c.Argument(2)) {
				v, err := plain(c.This, c.Argument(0))
				s.must(err)
				return v
			}
			return call("compare", append([]goja.Value{c.This}, c.Arguments...)...)
		})
	}
	if e&extraLocale == 0 {
		return
	}
	for _, m := range localeMethods {
		s.method(m.class, m.method, func(c goja.FunctionCall) goja.Value {
			return call(m.name, append([]goja.Value{c.This}, c.Arguments...)...)
		})
	}
	s.lazily("Intl", func() goja.Value { return call("Intl") })
}

// optionNames are the options that a kind of format reads.
func (s *setup) optionNames(call goja.FunctionCall) goja.Value {
	switch call.Argument(0).String() {
	case "number":
		return s.texts(intl.NumberOptions())
	case "date":
		return s.texts(intl.DateOptions())
	case "collator":
		return s.texts(intl.CollatorOptions())
	}
	return s.texts(intl.PluralOptions())
}

// supported filters a list of locales, written as JSON.
func (s *setup) supported(call goja.FunctionCall) goja.Value {
	var tags, known []string
	s.decode(call.Argument(0), &tags)
	for _, tag := range tags {
		if _, err := intl.Lookup(tag); err == nil {
			known = append(known, tag)
		}
	}
	return s.texts(known)
}

// decode reads JSON that a built-in script wrote; the script may have disturbed it.
func (s *setup) decode(v goja.Value, into any) {
	if v == nil || !value.IsText(v) {
		panic(s.rt.NewTypeError("Intl: the options are not readable"))
	}
	if err := json.Unmarshal([]byte(v.String()), into); err != nil {
		panic(s.rt.NewTypeError("Intl: the options are not readable"))
	}
}

const (
	// maxLocales bounds a list of locales.
	maxLocales = 100
	// maxCompared bounds two texts, which are written anew several times to be compared.
	maxCompared = 1 << 20
)

// formatter makes a format of what was asked for; the result is a function of an operation and a value.
func (s *setup) formatter(call goja.FunctionCall) goja.Value {
	var request struct {
		Kind, Fields string
		Locales      []string
		Options      intl.Options
	}
	s.decode(call.Argument(0), &request)
	if len(request.Locales) > maxLocales {
		s.refuse(&intl.Error{Message: fmt.Sprintf("Intl: more than %d locales", maxLocales)})
	}
	locale, err := intl.Lookup(intl.Default)
	for _, tag := range request.Locales {
		// The first one that there is, as for the language's own lists.
		if locale, err = intl.Lookup(tag); err == nil {
			break
		}
	}
	s.refuse(err)
	switch request.Kind {
	case "number":
		f, err := intl.Numbers(locale, request.Options)
		s.refuse(err)
		return s.numberFormat(f)
	case "date":
		f, err := intl.Dates(locale, request.Options, intl.Fields(request.Fields))
		s.refuse(err)
		return s.dateFormat(f)
	case "collator":
		f, err := intl.Collation(locale, request.Options)
		s.refuse(err)
		return s.native(func(call goja.FunctionCall) goja.Value {
			if operation(call) == "resolved" {
				return s.pairs(f.Resolved())
			}
			a, b := call.Argument(1).String(), call.Argument(2).String()
			if len(a)+len(b) > maxCompared {
				s.refuse(&intl.Error{Message: fmt.Sprintf("Intl: the texts to compare have %d bytes; the limit is %d",
					len(a)+len(b), maxCompared)})
			}
			return s.rt.ToValue(f.Compare(a, b))
		})
	case "plural":
		f, err := intl.Plurals(locale, request.Options)
		s.refuse(err)
		return s.native(func(call goja.FunctionCall) goja.Value {
			if operation(call) == "resolved" {
				return s.pairs(f.Resolved())
			}
			return s.rt.ToValue(f.Select(call.Argument(1).ToFloat()))
		})
	}
	panic(s.rt.NewTypeError("Intl: the options are not readable"))
}

// refuse throws what a format refuses as the language does.
func (s *setup) refuse(err error) {
	var refusal *intl.Error
	switch {
	case err == nil:
	case !errors.As(err, &refusal):
		panic(s.rt.NewTypeError(err.Error()))
	case refusal.Type:
		panic(s.rt.NewTypeError(refusal.Message))
	default:
		panic(s.rangeError(refusal.Message))
	}
}

// operation is what a built-in script asks of a format.
func operation(call goja.FunctionCall) string { return call.Argument(0).String() }

func (s *setup) numberFormat(f *intl.NumberFormat) goja.Value {
	return s.native(func(call goja.FunctionCall) goja.Value {
		what := operation(call)
		if what == "resolved" {
			return s.pairs(f.Resolved())
		}
		number := call.Argument(1)
		var parts []intl.Part
		exact := false
		if value.IsText(number) {
			if text := number.String(); len(text) > intl.MaxDigits {
				s.refuse(&intl.Error{Message: fmt.Sprintf("Intl: the number has more than %d digits", intl.MaxDigits)})
			} else {
				parts, exact = f.PartsOf(text)
			}
		}
		if !exact {
			parts = f.Parts(number.ToFloat())
		}
		if what == "parts" {
			return s.parts(parts)
		}
		return s.rt.ToValue(intl.Text(parts))
	})
}

// maxTime is the last time the language knows, in milliseconds after and before 1970.
const maxTime = 8.64e15

func (s *setup) dateFormat(f *intl.DateFormat) goja.Value {
	return s.native(func(call goja.FunctionCall) goja.Value {
		what := operation(call)
		if what == "resolved" {
			return s.pairs(f.Resolved())
		}
		at := call.Argument(1).ToFloat()
		if math.IsNaN(at) || math.Abs(at) > maxTime {
			panic(s.rangeError("Invalid time value"))
		}
		if what == "parts" {
			return s.parts(f.Parts(int64(at)))
		}
		return s.rt.ToValue(f.Format(int64(at)))
	})
}

// pairs and parts are flat lists, name after name and value after value.
func (s *setup) pairs(list [][2]string) goja.Value {
	flat := make([]string, 0, 2*len(list))
	for _, p := range list {
		flat = append(flat, p[0], p[1])
	}
	return s.texts(flat)
}

func (s *setup) parts(list []intl.Part) goja.Value {
	flat := make([]string, 0, 2*len(list))
	for _, p := range list {
		flat = append(flat, p.Type, p.Value)
	}
	return s.texts(flat)
}
