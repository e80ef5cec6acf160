package value

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja"
)

// plain writes the JSON of plain data, of which JSON loses nothing: objects and arrays of the language without toJSON,
// of texts, numbers, true, false and null. It makes what the interpreter would make, in one pass and not in two.
// For anything else the interpreter is asked.
type plain struct {
	text []byte
	deep int
}

const (
	// maxPlain bounds what is written before the interpreter is asked after all, in bytes.
	maxPlain = 1 << 20
	// maxPlainDepth is how deep the interpreter need not look for a circle.
	maxPlainDepth = 100
)

var (
	typeObject = reflect.TypeFor[map[string]any]()
	typeArray  = reflect.TypeFor[[]any]()
	typeInt    = reflect.TypeFor[int64]()
	typeFloat  = reflect.TypeFor[float64]()
	typeBool   = reflect.TypeFor[bool]()
)

// plainJSON is the JSON of an object that is plain data, nil for any other. It runs getters. One that throws is left to
// the interpreter, an interruption goes on as a panic.
func plainJSON(rt *goja.Runtime, o *goja.Object) json.RawMessage {
	p := plain{text: make([]byte, 0, 256)}
	is := false
	if ex := rt.Try(func() { is = p.object(o) }); ex != nil || !is {
		return nil
	}
	return p.text
}

// object writes an object or an array. Like all that write, it says whether it could.
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
		if !p.quote(key) { // also of one that is left out: Get may not find half of a surrogate pair
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

// items writes an array that has each of its items, and nothing else.
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
		if f := v.ToFloat(); f-f != 0 { // NaN or infinite
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
	if !utf8.ValidString(s) || strings.ContainsRune(s, utf8.RuneError) {
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
