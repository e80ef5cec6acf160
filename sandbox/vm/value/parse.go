package value

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/dop251/goja"

	"github.com/pawl-run/pawl/sandbox"
)

// maxNesting is how deep JSON may be nested, as in encoding/json: what reads it recurses.
const maxNesting = 10_000

// Parser makes values of a runtime out of JSON text, as JSON.parse does, without any code of the
// script: no setter, no prototype and no replaced global takes part. One number differs from the
// interpreter's own JSON.parse, which refuses what is too large for a number: it is Infinity, as the
// language has it.
type Parser struct {
	rt *goja.Runtime
	// prototype is the prototype of objects. An object gets it when it is complete: until then it inherits
	// nothing, and no setter of the script.
	prototype *goja.Object

	jsonText
	depth int
	// whole is the text as a string of the interpreter if it is ASCII: parts of it need no copy.
	whole goja.String
}

// NewParser makes a Parser for a runtime in which nothing of a script has run yet.
func NewParser(rt *goja.Runtime) Parser {
	// Nothing of a script has run: the global object's prototype is Object.prototype.
	return Parser{rt: rt, prototype: rt.GlobalObject().Prototype()}
}

// Parse makes the value of a whole text.
func (j Parser) Parse(text string) (goja.Value, error) {
	j.text = text
	if sandbox.IsASCII(text) {
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

// Event is an Event as scripts see it.
func (j Parser) Event(e *sandbox.Event) (goja.Value, error) {
	payload := goja.Null()
	if e.Payload != nil {
		var err error
		if payload, err = j.Parse(string(e.Payload)); err != nil {
			return nil, err
		}
	}
	lastError := goja.Null()
	if e.LastError != nil {
		raw, err := json.Marshal(e.LastError)
		if err != nil {
			return nil, err
		}
		if lastError, err = j.Parse(string(raw)); err != nil {
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
	// These are not enumerable: data that has a whole event in it must not be another one at each try.
	for _, member := range [...]struct {
		name  string
		value goja.Value
	}{{"attempt", j.rt.ToValue(max(e.Attempt, 1))}, {"lastError", lastError}} {
		if err := o.DefineDataProperty(member.name, member.value, goja.FLAG_TRUE, goja.FLAG_TRUE,
			goja.FLAG_FALSE); err != nil {
			return nil, err
		}
	}
	for _, member := range [...]struct{ name, text string }{{"status", e.Status}, {"scheduledAt", e.ScheduledAt}} {
		if member.text == "" {
			continue
		}
		if err := o.Set(member.name, j.textOf(member.text)); err != nil {
			return nil, err
		}
	}
	return o, o.SetPrototype(j.prototype)
}

func (j *Parser) value() (goja.Value, error) {
	switch c := j.next(); c {
	case '{':
		return j.object()
	case '[':
		return j.array()
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

func (j *Parser) word(word string, v any) (goja.Value, error) {
	for i := range len(word) {
		if j.at >= len(j.text) || j.text[j.at] != word[i] {
			return nil, j.unexpected()
		}
		j.at++
	}
	return j.rt.ToValue(v), nil
}

// enter passes over an opening bracket, leave over a closing one.
func (j *Parser) enter() error {
	if j.depth++; j.depth > maxNesting {
		return fmt.Errorf("JSON is nested deeper than %d", maxNesting)
	}
	j.at++
	return nil
}

func (j *Parser) leave() {
	j.depth--
	j.at++
}

// object reads an object. The last value of a repeated name counts, at the place of the first.
func (j *Parser) object() (goja.Value, error) {
	if err := j.enter(); err != nil {
		return nil, err
	}
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
	j.leave()
	return o, o.SetPrototype(j.prototype)
}

func (j *Parser) array() (goja.Value, error) {
	if err := j.enter(); err != nil {
		return nil, err
	}
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
	j.leave()
	return j.rt.NewArray(items...), nil
}

// string reads a string as a value.
func (j *Parser) string() (goja.Value, error) {
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
func (j *Parser) textOf(s string) goja.Value {
	ascii := sandbox.IsASCII(s)
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

// maxExactDigits is how many digits any number may have and be an exact integer of the language.
const maxExactDigits = 15

func (j *Parser) number() (goja.Value, error) {
	text, integer, err := j.numeral()
	if err != nil {
		return nil, err
	}
	if integer && text[0] != '-' && len(text) <= maxExactDigits {
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
