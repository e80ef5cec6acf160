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
	// names are the names of the columns: the header's cells, read as all cells are. Where a name stands there twice,
	// the second is called `name (2)`, so that none hides another.
	names []string
	// key is the index of keyColumn in header, or -1.
	key int
}

func newLayout(header []string, comma byte, lineEnd string) layout {
	plain := make([]string, len(header))
	for i, name := range header {
		plain[i] = plainText(name)
	}
	return layout{header: header, comma: comma, lineEnd: lineEnd, names: distinct(plain),
		key: slices.Index(header, keyColumn)}
}

// distinct numbers the names that are repeated. The key column is no column to read or write by name.
func distinct(header []string) []string {
	taken := make(map[string]bool, len(header))
	for _, name := range header {
		taken[name] = true
	}
	names := slices.Clone(header)
	times := make(map[string]int, len(header))
	for i, name := range header {
		if times[name]++; name == keyColumn || times[name] == 1 {
			continue
		}
		for taken[names[i]] {
			names[i] = strings.TrimSpace(fmt.Sprintf("%s (%d)", name, times[name]))
			if taken[names[i]] {
				times[name]++
			}
		}
		taken[names[i]] = true
	}
	return names
}

// columns are the columns' names without the key column.
func (l layout) columns() []string {
	return slices.DeleteFunc(slices.Clone(l.names), func(name string) bool { return name == keyColumn })
}

// detect reads a file's layout from its first record.
func detect(raw []byte) layout {
	lineEnd := "\n"
	if strings.HasSuffix(string(raw), "\r\n") {
		lineEnd = "\r\n"
	}
	var header []string
	var separator byte
	for _, comma := range []byte{',', ';', '\t'} {
		found := cells(raw, comma)
		if header == nil || len(found) > len(header) {
			header, separator = found, comma
		}
		if slices.Contains(found, keyColumn) {
			header, separator = found, comma
			break
		}
	}
	return newLayout(header, separator, lineEnd)
}

// encode writes the cells as one record with its line end.
func (l layout) encode(cells []string) []byte {
	var out []byte
	for i, cell := range cells {
		if i > 0 {
			out = append(out, l.comma)
		}
		// A single empty cell would be an empty line, which readers skip. Separators that are not this file's are
		// quoted too: a program may guess another one than the file has.
		if strings.ContainsAny(cell, "\"\r\n,;\t|") || (cell == "" && len(cells) == 1) ||
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
func (l layout) row(p appendParams, key string) ([]byte, *eventlog.Failure) {
	named, listed, failure := decodeValues(p.Values)
	if failure != nil {
		return nil, failure
	}
	columns := l.columns()
	if named == nil {
		// A list goes by the call's header, whatever order the file has by now; without one, by the file's.
		names := columns
		if len(p.Header) > 0 {
			names = p.Header
		}
		if named, failure = byName(names, listed); failure != nil {
			return nil, failure
		}
	}
	known := make(map[string]bool, len(columns))
	for _, column := range columns {
		known[column] = true
	}
	for name := range named {
		if !known[name] {
			return nil, connector.Failf(eventlog.Logic, "csv.column",
				"the file has no column %q to write to; its columns are: %s",
				name, strings.Join(columns, ", "))
		}
	}
	out := make([]string, len(l.header))
	for i, column := range l.names {
		if column == keyColumn {
			if i == l.key {
				out[i] = key
			}
			continue
		}
		cell, failure := cellText(named[column], column)
		if failure != nil {
			return nil, failure
		}
		out[i] = cell
	}
	return l.encode(out), nil
}

// byName gives each cell of a list its column's name.
func byName(names []string, listed []any) (map[string]any, *eventlog.Failure) {
	if len(listed) != len(names) {
		return nil, connector.Failf(eventlog.Logic, "csv.columns", "values has %d cells for %d columns: %s",
			len(listed), len(names), strings.Join(names, ", "))
	}
	named := make(map[string]any, len(names))
	for i, name := range names {
		if _, twice := named[name]; twice {
			return nil, connector.Failf(eventlog.Logic, "csv.header", "the header names the column %q twice", name)
		}
		named[name] = listed[i]
	}
	return named, nil
}

// decodeValues reads values: an object by column name, or a list of cells.
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
		return nil, nil, connector.Failf(eventlog.Logic, connector.CodeParams,
			"values: want an object by column name or a list of cells")
	}
}

func cellText(value any, column string) (string, *eventlog.Failure) {
	switch v := value.(type) {
	case nil:
		return "", nil
	case string:
		if strings.ContainsRune(v, 0) {
			return "", connector.Failf(eventlog.Logic, "csv.cell", "column %s: a cell cannot hold a NUL character",
				column)
		}
		return asText(v), nil
	case json.Number:
		return v.String(), nil
	case bool:
		return fmt.Sprint(v), nil
	default:
		return "", connector.Failf(eventlog.Logic, "csv.cell", "column %s: a cell is a string, number, boolean or null",
			column)
	}
}

// formulaStarts begin what a spreadsheet may run (OWASP, CSV injection), the full-width forms included.
const formulaStarts = "=+-@\t\r\n＝＋－＠"

// startsFormula says whether s, whatever apostrophes stand before it, begins like a formula. So does text with a byte
// order mark before it: a program that finds the mark at the beginning of the file drops it.
func startsFormula(s string) bool {
	s = strings.TrimLeft(s, "'\ufeff")
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

// isText says whether plainText of the cell is that text.
func isText(cell []byte, text string) bool {
	if len(cell) > 0 && cell[0] == '\'' {
		return plainText(string(cell)) == text
	}
	return string(cell) == text
}
