package csv

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// keyColumn is the column that holds the idempotency key of a row written by pawl.
const keyColumn = "_pawl"

// layout is how a file is written.
type layout struct {
	header  []string
	comma   byte
	lineEnd string
	// key is the index of keyColumn in header, or -1.
	key int
}

// columns are the header's names without the key column.
func (l layout) columns() []string {
	return slices.DeleteFunc(slices.Clone(l.header), func(name string) bool { return name == keyColumn })
}

// detect reads a file's layout from its first record.
func detect(raw []byte) layout {
	l := layout{comma: ',', lineEnd: "\n", key: -1}
	if strings.HasSuffix(string(raw), "\r\n") {
		l.lineEnd = "\r\n"
	}
	for _, comma := range []byte{',', ';', '\t'} {
		header := cells(raw, comma)
		if l.header == nil || len(header) > len(l.header) {
			l.header, l.comma = header, comma
		}
		if slices.Contains(header, keyColumn) {
			l.header, l.comma = header, comma
			break
		}
	}
	l.key = slices.Index(l.header, keyColumn)
	return l
}

// encode writes the cells as one record with its line end.
func (l layout) encode(cells []string) []byte {
	var out []byte
	for i, cell := range cells {
		if i > 0 {
			out = append(out, l.comma)
		}
		// A single empty cell would be an empty line, which readers skip.
		if strings.ContainsAny(cell, "\"\r\n") || strings.IndexByte(cell, l.comma) >= 0 || (cell == "" && len(cells) == 1) ||
			strings.TrimSpace(cell) != cell {
			out = append(out, '"')
			out = append(out, strings.ReplaceAll(cell, `"`, `""`)...)
			out = append(out, '"')
			continue
		}
		out = append(out, cell...)
	}
	return append(out, l.lineEnd...)
}

// row encodes a call's values, in the header's order, with the key in its column.
func (l layout) row(values json.RawMessage, key string) ([]byte, *eventlog.Failure) {
	named, listed, failure := decodeValues(values)
	if failure != nil {
		return nil, failure
	}
	columns := l.columns()
	if named == nil && len(listed) != len(columns) {
		return nil, connector.Failf(eventlog.Logic, "csv.columns", "values has %d cells, the file has %d columns: %s",
			len(listed), len(columns), strings.Join(columns, ", "))
	}
	for name := range named {
		if name == keyColumn || !slices.Contains(columns, name) {
			return nil, connector.Failf(eventlog.Logic, "csv.column", "the file has no column %q to write to; its columns are: %s",
				name, strings.Join(columns, ", "))
		}
	}
	out := make([]string, len(l.header))
	given := 0
	for i, column := range l.header {
		if column == keyColumn {
			if i == l.key {
				out[i] = key
			}
			continue
		}
		value := named[column]
		if named == nil {
			value = listed[given]
		}
		given++
		cell, failure := cellText(value, column)
		if failure != nil {
			return nil, failure
		}
		out[i] = cell
	}
	return l.encode(out), nil
}

// decodeValues reads values: an object by column name, or a list in the columns' order.
func decodeValues(raw json.RawMessage) (named map[string]any, listed []any, failure *eventlog.Failure) {
	var value any
	if failure := connector.DecodeParams(raw, &value); failure != nil {
		return nil, nil, failure
	}
	switch v := value.(type) {
	case map[string]any:
		return v, nil, nil
	case []any:
		return nil, v, nil
	default:
		return nil, nil, connector.Failf(eventlog.Logic, connector.CodeParams, "values: want an object by column name or a list of cells")
	}
}

func cellText(value any, column string) (string, *eventlog.Failure) {
	switch v := value.(type) {
	case nil:
		return "", nil
	case string:
		if strings.ContainsRune(v, 0) {
			return "", connector.Failf(eventlog.Logic, "csv.cell", "column %s: a cell cannot hold a NUL character", column)
		}
		return asText(v), nil
	case json.Number:
		return v.String(), nil
	case bool:
		return fmt.Sprint(v), nil
	default:
		return "", connector.Failf(eventlog.Logic, "csv.cell", "column %s: a cell is a string, number, boolean or null", column)
	}
}

// formulaStarts begin what a spreadsheet may run (OWASP, CSV injection), the full-width forms included.
const formulaStarts = "=+-@\t\r\n＝＋－＠"

// startsFormula says whether s, whatever apostrophes stand before it, begins like a formula.
func startsFormula(s string) bool {
	s = strings.TrimLeft(s, "'")
	return s != "" && strings.ContainsAny(string([]rune(s[:min(len(s), 4)])[:1]), formulaStarts)
}

// asText protects text that looks like a formula with an apostrophe. Text that already has one
// gets another, so that plainText gives back exactly what was written.
func asText(s string) string {
	if startsFormula(s) {
		return "'" + s
	}
	return s
}

// plainText takes asText back.
func plainText(cell string) string {
	if strings.HasPrefix(cell, "'") && startsFormula(cell) {
		return cell[1:]
	}
	return cell
}
