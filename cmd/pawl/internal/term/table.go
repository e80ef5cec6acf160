package term

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Column is one column of a list: where its value stands in the JSON, and how wide it may be.
type Column struct {
	Title string
	Field string // path with dots
	// Instead is the field that is shown where field has nothing.
	Instead string
	Width   int
	// Show renders the value; nil shows it as it is.
	Show func(any) string
}

// Page is a page of any list.
type Page struct {
	Items []map[string]any `json:"items"`
	Next  *string          `json:"next"`
}

// Table prints the items oldest first, so that the newest stands at the bottom, next to the
// prompt. Without a terminal there are no frames: fields are separated by tabs, for cut and awk.
func (s Screen) Table(p Page, columns []Column, nothing string) {
	if len(p.Items) == 0 {
		fmt.Fprintln(s.Out, nothing)
		return
	}
	slices.Reverse(p.Items)
	if !IsTerminal(s.Out) {
		for _, item := range p.Items {
			cells := make([]string, len(columns))
			for i, c := range columns {
				cells[i] = c.cell(item)
			}
			fmt.Fprintln(s.Out, strings.Join(cells, "\t"))
		}
		s.more(p)
		return
	}
	t := table.NewWriter()
	t.SetOutputMirror(s.Out)
	t.SetStyle(table.StyleLight)
	t.Style().Options = table.OptionsNoBordersAndSeparators
	t.Style().Format.Header = text.FormatDefault
	style := s.Style(s.Out)
	header, configs := table.Row{}, []table.ColumnConfig{}
	for i, c := range columns {
		header = append(header, style.Dim(c.Title))
		configs = append(configs, table.ColumnConfig{Number: i + 1, WidthMax: c.Width, WidthMaxEnforcer: text.Trim})
	}
	t.AppendHeader(header)
	t.SetColumnConfigs(configs)
	for _, item := range p.Items {
		row := table.Row{}
		for _, c := range columns {
			row = append(row, c.cell(item))
		}
		t.AppendRow(row)
	}
	t.Render()
	s.more(p)
}

func (s Screen) more(p Page) {
	if p.Next != nil {
		fmt.Fprintf(s.Err, "these are the newest %d, the newest at the bottom; there are more: --limit N, --json\n", len(p.Items))
	}
}

func (c Column) cell(item map[string]any) string {
	value := At(item, c.Field)
	if value == nil && c.Instead != "" {
		value = At(item, c.Instead)
	}
	if c.Show != nil {
		return OneLine(c.Show(value), 400)
	}
	return OneLine(Plain(value), 400)
}

// At follows a path with dots; nil where it ends too early.
func At(value any, path string) any {
	for field := range strings.SplitSeq(path, ".") {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[field]
	}
	return value
}

// Plain shows a value as one text, - for none.
func Plain(value any) string {
	switch v := value.(type) {
	case nil:
		return "-"
	case string:
		return cmp.Or(v, "-")
	case float64, bool:
		return fmt.Sprint(v)
	default:
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false) // a terminal is no web page
		if err := encoder.Encode(v); err != nil {
			return "?"
		}
		return text.String()
	}
}

const MomentLayout = "2006-01-02 15:04:05"

// Moment shows a time as people here write it: local, to the second.
func Moment(value any) string {
	text, ok := value.(string)
	if !ok {
		return "-"
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	return t.Local().Format(MomentLayout)
}

// Length shows how many elements a list has.
func Length(value any) string {
	list, _ := value.([]any)
	return fmt.Sprint(len(list))
}

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
// hash may be over these bytes. What could steer a terminal is escaped as JSON has it.
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
