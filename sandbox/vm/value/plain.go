package value

import (
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja"
)

// plain writes the JSON of plain data, of which JSON loses nothing: ordinary objects and arrays without toJSON, which
// hold texts, numbers, true, false and null. It writes what the interpreter would write, in one pass instead of two.
// All other data is left to the interpreter. Each method that writes reports whether it could; if not, text is of no
// use.
type plain struct {
	text []byte
	deep int
}

const (
	// maxPlain bounds the text that is written here, in bytes; larger data is left to the interpreter.
	maxPlain = 1 << 20
	// maxPlainDepth bounds how deep the data is. Deeper data may contain itself, which only the interpreter recognises.
	maxPlainDepth = 100
)

var (
	typeObject = reflect.TypeFor[map[string]any]()
	typeArray  = reflect.TypeFor[[]any]()
	typeInt    = reflect.TypeFor[int64]()
	typeFloat  = reflect.TypeFor[float64]()
	typeBool   = reflect.TypeFor[bool]()
)

// plainJSON is the JSON of an object that is plain data, nil for any other. It runs getters. err is what one of them
// threw: if it were run again, it might not throw, and the exception would be lost. An interruption goes on as a panic.
func plainJSON(rt *goja.Runtime, o *goja.Object) (raw json.RawMessage, err error) {
	p := plain{text: make([]byte, 0, 256)}
	written := false
	if thrown := rt.Try(func() { written = p.object(o) }); thrown != nil {
		return nil, thrown
	}
	if !written {
		return nil, nil
	}
	return p.text, nil
}

// object writes an object or an array.
func (p *plain) object(o *goja.Object) bool {
	if p.deep++; p.deep > maxPlainDepth || len(p.text) > maxPlain {
		return false
	}
	var write func(*goja.Object) bool
	switch class, kind := o.ClassName(), o.ExportType(); {
	case class == "Object" && kind == typeObject:
		write = p.members
	case class == "Array" && kind == typeArray:
		write = p.items
	default:
		return false
	}
	if !Undefined(o.Get("toJSON")) || o.GetSymbol(goja.SymToStringTag) != nil || !write(o) {
		return false
	}
	p.deep--
	return true
}

func (p *plain) members(o *goja.Object) bool {
	p.text = append(p.text, '{')
	for _, key := range o.Keys() {
		before := len(p.text)
		if p.text[before-1] != '{' {
			p.text = append(p.text, ',')
		}
		// Get may not find a key with half of a surrogate pair, so that its value looks undefined: the key comes first.
		if !p.quote(key) {
			return false
		}
		p.text = append(p.text, ':')
		if v := o.Get(key); Undefined(v) {
			p.text = p.text[:before]
		} else if !p.value(v) {
			return false
		}
	}
	p.text = append(p.text, '}')
	return true
}

// items writes an array without gaps and without other members.
func (p *plain) items(o *goja.Object) bool {
	length := o.Get("length").ToInteger()
	if length > maxPlain {
		return false
	}
	keys := o.Keys()
	if int64(len(keys)) != length {
		return false
	}
	p.text = append(p.text, '[')
	var number [20]byte
	for i, key := range keys {
		if key != string(strconv.AppendInt(number[:0], int64(i), 10)) {
			return false
		}
		if i > 0 {
			p.text = append(p.text, ',')
		}
		if !p.value(o.Get(key)) {
			return false
		}
	}
	p.text = append(p.text, ']')
	return true
}

func (p *plain) value(v goja.Value) bool {
	switch v := v.(type) {
	case nil:
		return false
	case *goja.Object:
		return p.object(v)
	case goja.String:
		return p.quote(v.String())
	}
	if goja.IsNull(v) {
		p.text = append(p.text, "null"...)
		return true
	}
	switch v.ExportType() {
	case typeInt:
		p.text = strconv.AppendInt(p.text, v.ToInteger(), 10)
	case typeFloat:
		if f := v.ToFloat(); math.IsNaN(f) || math.IsInf(f, 0) {
			return false
		}
		p.text = append(p.text, v.String()...)
	case typeBool:
		p.text = strconv.AppendBool(p.text, v.ToBoolean())
	default:
		return false
	}
	return true
}

// quote writes a text. What may be half of a surrogate pair is left to the interpreter.
func (p *plain) quote(s string) bool {
	if len(s) > maxPlain-len(p.text) || !utf8.ValidString(s) || strings.ContainsRune(s, utf8.RuneError) {
		return false
	}
	const hex = "0123456789abcdef"
	p.text = append(p.text, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		p.text = append(append(p.text, s[from:i]...), '\\')
		from = i + 1
		switch c {
		case '"', '\\':
			p.text = append(p.text, c)
		case '\b':
			p.text = append(p.text, 'b')
		case '\t':
			p.text = append(p.text, 't')
		case '\n':
			p.text = append(p.text, 'n')
		case '\f':
			p.text = append(p.text, 'f')
		case '\r':
			p.text = append(p.text, 'r')
		default:
			p.text = append(p.text, 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	p.text = append(append(p.text, s[from:]...), '"')
	return true
}
