package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

const (
	// maxShown bounds the JSON that a page shows of one value, in bytes.
	maxShown = 64 << 10
	// maxRowShown bounds it where a page shows many values, such as the facts of the log.
	maxRowShown = 8 << 10
	// maxListed bounds it where a page lists hundreds of values that a person decides about.
	maxListed = 4 << 10
	// maxIndented is the depth of nesting up to which values begin lines of their own. Deeper values stay in the line.
	maxIndented = 40
)

// indent shows JSON for people.
func indent(raw json.RawMessage) string { return indentUpTo(maxShown, raw) }

// whole shows JSON for people in a list of many values, each whole or not at all; an empty text means that the value is
// too long.
func whole(raw json.RawMessage) string {
	if len(raw) > maxListed {
		return ""
	}
	in := indenter{most: maxListed}
	in.valid(raw)
	if in.full {
		return ""
	}
	return plain(in.out.String())
}

// indentRow shows JSON for people where a page has many values.
func indentRow(raw json.RawMessage) string { return indentUpTo(maxRowShown, raw) }

// indentUpTo shows at most most bytes. Its time grows linearly with them and with the value, however deep that is
// nested.
func indentUpTo(most int, raw json.RawMessage) string {
	in := indenter{most: most}
	in.valid(raw)
	if in.full {
		return plain(in.out.String()) + fmt.Sprintf("\n… %d bytes in all", len(raw))
	}
	return plain(in.out.String())
}

// indenter writes JSON in lines until it has written enough.
type indenter struct {
	out   strings.Builder
	most  int
	full  bool
	depth int
}

// valid writes JSON in lines, and a text that is no JSON as it is.
func (in *indenter) valid(raw []byte) {
	if json.Valid(raw) {
		in.value(raw)
	} else {
		in.write(raw)
	}
}

func (in *indenter) write(text []byte) {
	if left := in.most - in.out.Len(); len(text) > left {
		text, in.full = text[:left], true
	}
	in.out.Write(text)
}

// line begins a line, or goes on in the same one where the value is nested too deep for lines.
func (in *indenter) line(depth int) {
	if in.depth > maxIndented {
		return
	}
	in.write([]byte("\n" + strings.Repeat("  ", depth)))
}

// value writes valid JSON.
func (in *indenter) value(raw []byte) {
	for i := 0; i < len(raw) && !in.full; i++ {
		switch c := raw[i]; c {
		case ' ', '\t', '\r', '\n':
		case '"':
			end := endOfString(raw, i)
			in.write(raw[i:end])
			i = end - 1
		case '{', '[':
			rest := bytes.TrimLeft(raw[i+1:], " \t\r\n")
			if rest[0] == c+2 { // the object or list is empty
				in.write([]byte{c, c + 2})
				i = len(raw) - len(rest)
				continue
			}
			in.write(raw[i : i+1])
			in.depth++
			in.line(in.depth)
		case '}', ']':
			in.line(in.depth - 1)
			in.depth--
			in.write(raw[i : i+1])
		case ',':
			in.write(raw[i : i+1])
			in.line(in.depth)
		case ':':
			in.write([]byte(": "))
		default:
			in.write(raw[i : i+1])
		}
	}
}

// endOfString is the index behind the string that begins at the index.
func endOfString(raw []byte, from int) int {
	i := from + 1
	for raw[i] != '"' {
		if raw[i] == '\\' {
			i++
		}
		i++
	}
	return i + 1
}
