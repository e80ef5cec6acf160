package sandbox

import (
	_ "embed"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/dop251/goja"
)

// extra is a set of globals that goja lacks or gets wrong. Each costs time in every call, so a
// runtime gets only those that its script names; a name that a script puts together at run time
// finds nothing, which is an ordinary ReferenceError.
type extra uint

const (
	extraConsole extra = 1 << iota
	extraStructuredClone
	extraText
	extraBase64
	extraCrypto
	extraLocale
	extraGroupBy
	extraPromise
	extraProperty
)

// extraNames are the names in a script's text that ask for an extra.
var extraNames = []struct {
	name  string
	extra extra
}{
	{"console", extraConsole},
	{"structuredClone", extraStructuredClone},
	{"TextEncoder", extraText},
	{"TextDecoder", extraText},
	{"atob", extraBase64},
	{"btoa", extraBase64},
	{"crypto", extraCrypto},
	{"toLocale", extraLocale},
	{"groupBy", extraGroupBy},
	{"withResolvers", extraPromise},
	{"Promise.try", extraPromise},
	{`\p{`, extraProperty},
	{`\P{`, extraProperty},
}

func extrasOf(code string) extra {
	var found extra
	for _, n := range extraNames {
		if found&n.extra == 0 && strings.Contains(code, n.name) {
			found |= n.extra
		}
	}
	return found
}

// The extras that are easier to say in the script's own language. Each file is one function
// expression that takes the global object.
//
//go:embed extras/clone.js
var cloneSource string

//go:embed extras/group.js
var groupSource string

//go:embed extras/promise.js
var promiseSource string

//go:embed extras/property.js
var propertySource string

// builtin programs are compiled at their first use and shared by all runtimes.
var (
	cloneProgram    = program("structuredClone", &cloneSource)
	groupProgram    = program("groupBy", &groupSource)
	promiseProgram  = program("Promise", &promiseSource)
	propertyProgram = program("RegExp", &propertySource)
)

func program(name string, source *string) func() (*goja.Program, error) {
	return sync.OnceValues(func() (*goja.Program, error) { return goja.Compile("<"+name+">", *source, true) })
}

// install puts the extras into a runtime before any script code runs.
func (e extra) install(s *session) error {
	for _, p := range []struct {
		extra   extra
		program func() (*goja.Program, error)
	}{
		{extraStructuredClone, cloneProgram}, {extraGroupBy, groupProgram},
		{extraPromise, promiseProgram}, {extraProperty, propertyProgram},
	} {
		if e&p.extra == 0 {
			continue
		}
		compiled, err := p.program()
		if err != nil {
			return fmt.Errorf("compile a built-in script: %w", err)
		}
		v, err := s.rt.RunProgram(compiled)
		if err != nil {
			return err
		}
		run, ok := goja.AssertFunction(v)
		if !ok {
			return fmt.Errorf("a built-in script is not a function")
		}
		if _, err := run(goja.Undefined(), s.rt.GlobalObject()); err != nil {
			return err
		}
	}
	if ex := s.rt.Try(func() { e.natives(s) }); ex != nil {
		return ex
	}
	return nil
}

func (e extra) natives(s *session) {
	set := func(on *goja.Object, name string, v any) { s.must(on.Set(name, v)) }
	global := s.rt.GlobalObject()
	if e&extraConsole != 0 {
		set(global, "console", s.console())
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
	if e&extraLocale != 0 {
		s.refuseLocales()
	}
}

// refuseLocales replaces what goja answers wrongly (dates always dd/mm/yyyy, numbers with the
// locale taken for a radix) by an error that names the way to do it.
func (s *session) refuseLocales() {
	for _, r := range []struct{ class, method, instead string }{
		{"Number", "toLocaleString", "use toFixed(digits) and add separators with a regular expression"},
		{"BigInt", "toLocaleString", "use toString() and add separators with a regular expression"},
		{"Date", "toLocaleString", "use toISOString(), or getUTCFullYear() and the like"},
		{"Date", "toLocaleDateString", "use toISOString().slice(0, 10), or getUTCFullYear() and the like"},
		{"Date", "toLocaleTimeString", "use toISOString().slice(11, 19), or getUTCHours() and the like"},
	} {
		class, ok := s.rt.Get(r.class).(*goja.Object)
		if !ok {
			continue
		}
		message := r.class + ".prototype." + r.method + " is not available here: " + r.instead
		s.must(class.Get("prototype").ToObject(s.rt).Set(r.method, func(goja.FunctionCall) goja.Value {
			panic(s.rt.NewTypeError(message))
		}))
	}
}

// textEncoder is the constructor of TextEncoder; it knows UTF-8 only, as the standard has it.
func (s *session) textEncoder(call goja.ConstructorCall) *goja.Object {
	s.must(call.This.Set("encoding", "utf-8"))
	s.must(call.This.Set("encode", func(call goja.FunctionCall) goja.Value {
		text := ""
		if v := call.Argument(0); !goja.IsUndefined(v) {
			text = v.String()
		}
		array, err := s.rt.New(s.rt.Get("Uint8Array"), s.rt.ToValue(s.rt.NewArrayBuffer([]byte(text))))
		s.must(err)
		return array
	}))
	return nil
}

// textDecoder is the constructor of TextDecoder, for UTF-8.
func (s *session) textDecoder(call goja.ConstructorCall) *goja.Object {
	if v := call.Argument(0); !goja.IsUndefined(v) {
		switch label := strings.ToLower(v.String()); label {
		case "utf-8", "utf8":
		default:
			panic(s.rt.NewTypeError("TextDecoder knows only utf-8 here, not %q", clip(label, 40)))
		}
	}
	fatal := false
	if options, ok := call.Argument(1).(*goja.Object); ok {
		if v := options.Get("fatal"); v != nil {
			fatal = v.ToBoolean()
		}
	}
	s.must(call.This.Set("encoding", "utf-8"))
	s.must(call.This.Set("decode", func(call goja.FunctionCall) goja.Value {
		data := s.bytes(call.Argument(0))
		if fatal && !utf8.Valid(data) {
			panic(s.rt.NewTypeError("the data is not valid UTF-8"))
		}
		return s.rt.ToValue(strings.TrimPrefix(strings.ToValidUTF8(string(data), "\uFFFD"), "\uFEFF"))
	}))
	return nil
}

// bytes are the contents of a Uint8Array or ArrayBuffer. The type is asked first: exporting any
// other object would run its getters.
func (s *session) bytes(v goja.Value) []byte {
	if goja.IsUndefined(v) {
		return nil
	}
	if obj, ok := v.(*goja.Object); ok {
		switch obj.ExportType().String() {
		case "[]uint8", "goja.ArrayBuffer":
			switch data := obj.Export().(type) {
			case []byte:
				return data
			case goja.ArrayBuffer:
				return data.Bytes()
			}
		}
	}
	panic(s.rt.NewTypeError("expected a Uint8Array or an ArrayBuffer"))
}

// btoa encodes a string of characters up to U+00FF.
func (s *session) btoa(call goja.FunctionCall) goja.Value {
	text := call.Argument(0).String()
	data := make([]byte, 0, len(text))
	for _, r := range text {
		if r > 0xFF {
			panic(s.rt.NewTypeError("btoa takes characters up to U+00FF; encode with TextEncoder and Uint8Array.prototype.toBase64 instead"))
		}
		data = append(data, byte(r))
	}
	return s.rt.ToValue(base64.StdEncoding.EncodeToString(data))
}

// atob decodes to a string of characters up to U+00FF.
func (s *session) atob(call goja.FunctionCall) goja.Value {
	text := strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\n\f\r", r) {
			return -1
		}
		return r
	}, call.Argument(0).String())
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		panic(s.rt.NewTypeError("atob: the string is not base64"))
	}
	var b strings.Builder
	for _, c := range data {
		b.WriteRune(rune(c))
	}
	return s.rt.ToValue(b.String())
}

// randomUUID is a version 4 UUID from the invocation's seed, like Math.random.
func (s *session) randomUUID() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], s.random().Uint64())
	binary.BigEndian.PutUint64(b[8:], s.random().Uint64())
	b[6] = b[6]&0x0F | 0x40
	b[8] = b[8]&0x3F | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}
