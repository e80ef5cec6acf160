package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/dop251/goja"
)

// maxNesting is how deep JSON may be nested, as in encoding/json: what reads it recurses.
const maxNesting = 10_000

// jsonValues makes values of a runtime out of JSON text, as JSON.parse does, without any code of the
// script: no setter, no prototype and no replaced global takes part. One number differs from the
// interpreter's own JSON.parse, which refuses what is too large for a number: it is Infinity, as the
// language has it.
type jsonValues struct {
	rt *goja.Runtime
	// prototype is that of objects. It is given to an object when it is complete, since before a
	// property could be an assignment to an inherited one.
	prototype *goja.Object

	text  string
	at    int
	depth int
	// whole is the text as a string of the interpreter if it is ASCII: parts of it need no copy.
	whole goja.String
}

func newJSONValues(rt *goja.Runtime) jsonValues {
	// Nothing of a script has run: the global object's prototype is Object.prototype.
	return jsonValues{rt: rt, prototype: rt.GlobalObject().Prototype()}
}

// parse makes the value of a whole text.
func (j jsonValues) parse(text string) (goja.Value, error) {
	j.text = text
	if isASCII(text) {
		j.whole, _ = j.rt.ToValue(text).(goja.String)
	}
	v, err := j.value()
	if err != nil {
		return nil, err
	}
	if j.space(); j.at < len(j.text) {
		return nil, j.unexpected()
	}
	return v, nil
}

// event is an event as scripts see it.
func (j jsonValues) event(e *Event) (goja.Value, error) {
	payload := goja.Null()
	if e.Payload != nil {
		var err error
		if payload, err = j.parse(string(e.Payload)); err != nil {
			return nil, err
		}
	}
	id := j.textOf(e.MessageID)
	o := j.rt.CreateObject(nil)
	for _, member := range [...]struct {
		name  string
		value goja.Value
	}{
		{"messageId", id},
		{"id", id}, // an alias (R12)
		{"topic", j.textOf(e.Topic)},
		{"title", j.textOf(e.Title)},
		{"payload", payload},
	} {
		if err := o.Set(member.name, member.value); err != nil {
			return nil, err
		}
	}
	return o, o.SetPrototype(j.prototype)
}

var errJSONEnd = errors.New("unexpected end of JSON")

// unexpected is the error of a text that goes on wrongly, or not at all.
func (j *jsonValues) unexpected() error {
	if j.at >= len(j.text) {
		return errJSONEnd
	}
	r, _ := utf8.DecodeRuneInString(j.text[j.at:])
	return fmt.Errorf("unexpected %q in JSON at byte %d", r, j.at)
}

func (j *jsonValues) space() {
	for j.at < len(j.text) {
		switch j.text[j.at] {
		case ' ', '\t', '\n', '\r':
			j.at++
		default:
			return
		}
	}
}

// next is the first byte that is no space, 0 at the end.
func (j *jsonValues) next() byte {
	j.space()
	if j.at < len(j.text) {
		return j.text[j.at]
	}
	return 0
}

func (j *jsonValues) value() (goja.Value, error) {
	switch c := j.next(); c {
	case '{':
		return j.nested(j.object)
	case '[':
		return j.nested(j.array)
	case '"':
		return j.string()
	case 't':
		return j.word("true", true)
	case 'f':
		return j.word("false", false)
	case 'n':
		return j.word("null", nil)
	default:
		if c == '-' || isDigit(c) {
			return j.number()
		}
		return nil, j.unexpected()
	}
}

func (j *jsonValues) word(word string, v any) (goja.Value, error) {
	for i := range len(word) {
		if j.at >= len(j.text) || j.text[j.at] != word[i] {
			return nil, j.unexpected()
		}
		j.at++
	}
	return j.rt.ToValue(v), nil
}

func (j *jsonValues) nested(read func() (goja.Value, error)) (goja.Value, error) {
	if j.depth++; j.depth > maxNesting {
		return nil, fmt.Errorf("JSON is nested deeper than %d", maxNesting)
	}
	j.at++
	v, err := read()
	j.depth--
	return v, err
}

// object reads behind the opening brace. Of a repeated name the last value counts, at the place of the
// first.
func (j *jsonValues) object() (goja.Value, error) {
	o := j.rt.CreateObject(nil)
	for first := true; ; first = false {
		c := j.next()
		if first && c == '}' {
			break
		}
		if c != '"' {
			return nil, j.unexpected()
		}
		name, err := j.literal()
		if err != nil {
			return nil, err
		}
		if j.next() != ':' {
			return nil, j.unexpected()
		}
		j.at++
		v, err := j.value()
		if err != nil {
			return nil, err
		}
		if err := o.Set(name, v); err != nil {
			return nil, err
		}
		if c = j.next(); c == '}' {
			break
		}
		if c != ',' {
			return nil, j.unexpected()
		}
		j.at++
	}
	j.at++
	return o, o.SetPrototype(j.prototype)
}

// array reads behind the opening bracket.
func (j *jsonValues) array() (goja.Value, error) {
	var items []any
	if j.next() != ']' {
		for {
			v, err := j.value()
			if err != nil {
				return nil, err
			}
			items = append(items, v)
			c := j.next()
			if c == ']' {
				break
			}
			if c != ',' {
				return nil, j.unexpected()
			}
			j.at++
		}
	}
	j.at++
	return j.rt.NewArray(items...), nil
}

// string reads a string as a value.
func (j *jsonValues) string() (goja.Value, error) {
	from := j.at + 1
	s, err := j.literal()
	if err != nil {
		return nil, err
	}
	if to := j.at - 1; j.whole != nil && len(s) == to-from { // no escape in it
		return j.whole.Substring(from, to), nil
	}
	return j.textOf(s), nil
}

// maxShort is how long a string of the host may be that the interpreter examines at once.
const maxShort = 16

// textOf is a string of the host as a value.
func (j *jsonValues) textOf(s string) goja.Value {
	ascii := isASCII(s)
	if !ascii && !utf8.ValidString(s) {
		s = string([]rune(s)) // each invalid byte becomes a replacement character
	}
	v := j.rt.ToValue(s)
	if imported, ok := v.(goja.String); ok && (!ascii || len(s) > maxShort) {
		// A part of what ToValue gives is a string as the language makes them; the whole would be
		// examined at every use.
		return imported.Substring(0, imported.Length())
	}
	return v
}

// literal reads a string, whose opening quote is next.
func (j *jsonValues) literal() (string, error) {
	from := j.at
	j.at++
	escaped := false
	for j.at < len(j.text) {
		switch c := j.text[j.at]; {
		case c == '"':
			j.at++
			if !escaped {
				return j.text[from+1 : j.at-1], nil
			}
			var s string
			if err := json.Unmarshal([]byte(j.text[from:j.at]), &s); err != nil {
				return "", fmt.Errorf("a string in JSON at byte %d: %w", from, err)
			}
			return s, nil
		case c == '\\':
			escaped = true
			j.at += 2
		case c < ' ':
			return "", j.unexpected()
		default:
			j.at++
		}
	}
	j.at = len(j.text)
	return "", errJSONEnd
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// digits passes over one digit or more.
func (j *jsonValues) digits() error {
	if j.at >= len(j.text) || !isDigit(j.text[j.at]) {
		return j.unexpected()
	}
	for j.at < len(j.text) && isDigit(j.text[j.at]) {
		j.at++
	}
	return nil
}

// has passes over one of two bytes, if it is next.
func (j *jsonValues) has(a, b byte) bool {
	if j.at < len(j.text) && (j.text[j.at] == a || j.text[j.at] == b) {
		j.at++
		return true
	}
	return false
}

// maxExactDigits is how many digits any number may have and be an exact integer of the language.
const maxExactDigits = 15

func (j *jsonValues) number() (goja.Value, error) {
	from := j.at
	negative := j.has('-', '-')
	if !j.has('0', '0') { // no digit follows a zero
		if err := j.digits(); err != nil {
			return nil, err
		}
	}
	integer := true
	if j.has('.', '.') {
		integer = false
		if err := j.digits(); err != nil {
			return nil, err
		}
	}
	if j.has('e', 'E') {
		integer = false
		j.has('+', '-')
		if err := j.digits(); err != nil {
			return nil, err
		}
	}
	text := j.text[from:j.at]
	if integer && !negative && len(text) <= maxExactDigits {
		var n int64
		for i := range len(text) {
			n = n*10 + int64(text[i]-'0')
		}
		return j.rt.ToValue(n), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // out of range it is Infinity
		return nil, err
	}
	return j.rt.ToValue(f), nil
}
