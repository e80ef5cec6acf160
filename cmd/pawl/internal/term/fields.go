package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/pawl-run/pawl/eventlog"
)

// Fields prints one object, a field per line. A nested value is JSON: as it was sent, or spread over lines where it
// does not fit into a line of the terminal.
func (s Screen) Fields(document json.RawMessage) error {
	fields, err := orderedFields(document)
	if err != nil {
		return err
	}
	width := 0
	for _, f := range fields {
		width = max(width, len(f.name))
	}
	style, room := s.Style(s.Out), 0 // without a terminal there is no line to fit
	if IsTerminal(s.Out) {
		room = max(s.width()-width-len(gap), least)
	}
	for _, f := range fields {
		name := style.Dim(fmt.Sprintf("%-*s", width, f.name))
		for _, line := range f.lines(room) {
			fmt.Fprintf(s.Out, "%s%s%s\n", name, gap, line)
			name = strings.Repeat(" ", width)
		}
	}
	return nil
}

// gap is between the name of a field and its value.
const gap = "  "

type field struct {
	name, text string
	// nested is the JSON of an object or an array, nil for any other value.
	nested json.RawMessage
}

// maxSpread bounds the lines over which one value is spread.
const maxSpread = 200

// lines are the lines of the value, where a line has room for so many characters; 0 is for any number.
func (f field) lines(room int) []string {
	var spread bytes.Buffer
	if room == 0 || f.nested == nil || text.StringWidthWithoutEscSequences(f.text) <= room ||
		json.Indent(&spread, f.nested, "", "  ") != nil {
		return []string{f.text}
	}
	lines := strings.Split(spread.String(), "\n")
	more := len(lines) - maxSpread
	if more > 0 {
		lines = lines[:maxSpread]
	}
	for i, line := range lines {
		lines[i] = documentLine(json.RawMessage(line), 4000)
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("… and %s more; --json shows all", eventlog.Count(more, "line")))
	}
	return lines
}

// orderedFields reads an object's fields in the order in which they were sent.
func orderedFields(document json.RawMessage) ([]field, error) {
	d := json.NewDecoder(strings.NewReader(string(document)))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return nil, fmt.Errorf("read the engine's answer: it is no object (%v)", err)
	}
	var fields []field
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("read the engine's answer: %w", err)
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, fmt.Errorf("read the engine's answer: %w", err)
		}
		f := field{name: fmt.Sprint(name), text: fieldText(raw)}
		if len(raw) > 0 && (raw[0] == '{' || raw[0] == '[') {
			f.nested = raw
		}
		fields = append(fields, f)
	}
	return fields, nil
}

func fieldText(raw json.RawMessage) string {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return OneLine(string(raw), 4000)
	}
	switch v := value.(type) {
	case string:
		if _, err := time.Parse(time.RFC3339Nano, v); err == nil {
			return Moment(v)
		}
		return OneLine(v, 4000)
	case map[string]any, []any:
		return documentLine(raw, 4000)
	}
	return OneLine(Plain(value), 4000)
}

// documentLine shows JSON as it was sent, in the order and with the spaces of its writer: a hash may have been made of
// these bytes. Characters that could steer a terminal are escaped in the way of JSON.
func documentLine(raw json.RawMessage, most int) string {
	var out strings.Builder
	left := most
	for _, r := range string(raw) {
		if left--; left == 0 {
			return out.String() + "…"
		}
		switch {
		case r == '\n', r == '\r', r == '\t': // these are between values: inside of strings they are escaped
			out.WriteByte(' ')
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029':
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}
