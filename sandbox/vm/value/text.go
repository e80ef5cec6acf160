package value

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// jsonText is JSON that is read from its beginning.
type jsonText struct {
	text string
	at   int
}

var errJSONEnd = errors.New("unexpected end of JSON")

// unexpected is the error of a text that goes on wrongly, or not at all.
func (j *jsonText) unexpected() error {
	if j.at >= len(j.text) {
		return errJSONEnd
	}
	r, _ := utf8.DecodeRuneInString(j.text[j.at:])
	return fmt.Errorf("unexpected %q in JSON at byte %d", r, j.at)
}

func (j *jsonText) space() {
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
func (j *jsonText) next() byte {
	j.space()
	if j.at < len(j.text) {
		return j.text[j.at]
	}
	return 0
}

// literal reads a string, whose opening quote is next.
func (j *jsonText) literal() (string, error) {
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
func (j *jsonText) digits() error {
	if j.at >= len(j.text) || !isDigit(j.text[j.at]) {
		return j.unexpected()
	}
	for j.at < len(j.text) && isDigit(j.text[j.at]) {
		j.at++
	}
	return nil
}

// has passes over one of two bytes, if it is next.
func (j *jsonText) has(a, b byte) bool {
	if j.at < len(j.text) && (j.text[j.at] == a || j.text[j.at] == b) {
		j.at++
		return true
	}
	return false
}

// numeral reads a number, and tells whether it is one without a fraction or an exponent.
func (j *jsonText) numeral() (text string, integer bool, err error) {
	from := j.at
	j.has('-', '-')
	if !j.has('0', '0') { // no digit follows a zero
		if err := j.digits(); err != nil {
			return "", false, err
		}
	}
	integer = true
	if j.has('.', '.') {
		integer = false
		if err := j.digits(); err != nil {
			return "", false, err
		}
	}
	if j.has('e', 'E') {
		integer = false
		j.has('+', '-')
		if err := j.digits(); err != nil {
			return "", false, err
		}
	}
	return j.text[from:j.at], integer, nil
}

// skip passes over a value that is known to be JSON.
func (j *jsonText) skip() error {
	depth := 0
	for j.at < len(j.text) {
		switch j.text[j.at] {
		case '"':
			if _, err := j.literal(); err != nil {
				return err
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return nil // the end of the object around it
			}
			depth--
		case ',':
			if depth == 0 {
				return nil
			}
		}
		j.at++
	}
	return errJSONEnd
}

// members passes over an object that is known to be JSON, and has each member's value read by value, which reports
// whether to go on. ok is false for anything else, and where value has ended it.
func (j *jsonText) members(value func(name string) bool) (ok bool) {
	if j.next() != '{' {
		return false
	}
	j.at++
	for j.next() == '"' {
		name, err := j.literal()
		if err != nil || j.next() != ':' {
			return false
		}
		j.at++
		j.space()
		if !value(name) {
			return false
		}
		if j.next() != ',' {
			break
		}
		j.at++
	}
	return j.close('}')
}

// items passes over an array as members does over an object.
func (j *jsonText) items(value func() bool) (ok bool) {
	if j.next() != '[' {
		return false
	}
	j.at++
	for j.next() != ']' {
		if !value() {
			return false
		}
		if j.next() != ',' {
			break
		}
		j.at++
	}
	return j.close(']')
}

// close passes over a closing bracket, if it is next.
func (j *jsonText) close(bracket byte) bool {
	if j.next() != bracket {
		return false
	}
	j.at++
	return true
}

// skipString passes over a string, if one is next.
func (j *jsonText) skipString() bool {
	if j.next() != '"' {
		return false
	}
	_, err := j.literal()
	return err == nil
}
