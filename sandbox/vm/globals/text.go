package globals

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja"
	"golang.org/x/text/encoding/unicode"

	"github.com/pawl-run/pawl/sandbox"
)

// validText replaces what is no UTF-8 as the standard of encodings says.
func validText(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	valid, err := unicode.UTF8.NewDecoder().String(text)
	if err != nil {
		return strings.ToValidUTF8(text, "\uFFFD") // it replaces, and has no reason to fail
	}
	return valid
}

// textEncoder is the constructor of TextEncoder; it knows UTF-8 only, as the standard has it.
func (s *setup) textEncoder(call goja.ConstructorCall) *goja.Object {
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
func (s *setup) textDecoder(call goja.ConstructorCall) *goja.Object {
	if v := call.Argument(0); !goja.IsUndefined(v) {
		switch label := strings.ToLower(v.String()); label {
		case "utf-8", "utf8":
		default:
			panic(s.rt.NewTypeError("TextDecoder knows only utf-8 here, not %q", sandbox.Clip(label, 40)))
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
		return s.rt.ToValue(strings.TrimPrefix(validText(string(data)), "\uFEFF"))
	}))
	return nil
}

// bytes are the contents of a Uint8Array or ArrayBuffer. The type is asked first: exporting any
// other object would run its getters.
func (s *setup) bytes(v goja.Value) []byte {
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
func (s *setup) btoa(call goja.FunctionCall) goja.Value {
	text := call.Argument(0).String()
	data := make([]byte, 0, len(text))
	for _, r := range text {
		if r > 0xFF {
			panic(s.rt.NewTypeError("btoa takes characters up to U+00FF; encode with TextEncoder and " +
				"Uint8Array.prototype.toBase64 instead"))
		}
		data = append(data, byte(r))
	}
	return s.rt.ToValue(base64.StdEncoding.EncodeToString(data))
}

// atob decodes to a string of characters up to U+00FF.
func (s *setup) atob(call goja.FunctionCall) goja.Value {
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
func (s *setup) randomUUID() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], s.from.Random().Uint64())
	binary.BigEndian.PutUint64(b[8:], s.from.Random().Uint64())
	b[6] = b[6]&0x0F | 0x40
	b[8] = b[8]&0x3F | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}
