package term

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
)

// Fields prints one thing, a field per line; what is nested stands below as JSON.
func (s Screen) Fields(document json.RawMessage) error {
	fields, err := orderedFields(document)
	if err != nil {
		return err
	}
	width := 0
	for _, f := range fields {
		width = max(width, len(f.name))
	}
	style := s.Style(s.Out)
	for _, f := range fields {
		fmt.Fprintf(s.Out, "%s  %s\n", style.Dim(fmt.Sprintf("%-*s", width, f.name)), f.text)
	}
	return nil
}

type field struct{ name, text string }

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
		fields = append(fields, field{fmt.Sprint(name), fieldText(raw)})
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

// DocumentLine shows JSON as it was sent, in the order and with the spaces of its writer: a
// hash may be over these bytes. Characters that could steer a terminal are escaped as JSON has it.
func documentLine(raw json.RawMessage, most int) string {
	var out strings.Builder
	left := most
	for _, r := range string(raw) {
		if left--; left == 0 {
			return out.String() + "…"
		}
		switch {
		case r == '\n', r == '\r', r == '\t': // between the values: in a string they stand escaped
			out.WriteByte(' ')
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029':
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}
