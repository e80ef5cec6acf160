package csv

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

const readSchema = `{
  "type": "object", "additionalProperties": false, "required": ["file"],
  "properties": {
    "file": {"type": "string", "minLength": 1},
    "after": {"type": "integer", "minimum": 0},
    "limit": {"type": "integer", "minimum": 1, "maximum": 10000}
  }
}`

const findSchema = `{
  "type": "object", "additionalProperties": false, "required": ["file", "column", "value"],
  "properties": {
    "file": {"type": "string", "minLength": 1},
    "column": {"type": "string", "minLength": 1},
    "value": {"type": ["string", "number", "boolean"]}
  }
}`

// What the operations return. Rows are cells by the name of their column.
const (
	rowSchema        = `{"type": "object", "additionalProperties": {"type": "string"}}`
	readResultSchema = `{"type": "object", "required": ["columns", "rows", "next"], "properties": {
  "columns": {"type": "array", "items": {"type": "string"}}, "rows": {"type": "array", "items": ` + rowSchema + `},
  "next": {"type": ["integer", "null"]}}}`
	findResultSchema = `{"type": ["object", "null"], "required": ["row", "values"], "properties": {
  "row": {"type": "integer"}, "values": ` + rowSchema + `}}`
)

// Read performs readRows and findRow.
func (c *Connector) Read(ctx context.Context, call connector.Call) (json.RawMessage, error) {
	var failure *eventlog.Failure
	var result any
	switch call.Operation {
	case "readRows":
		result, failure = c.readRows(ctx, call)
	case "findRow":
		result, failure = c.findRow(ctx, call)
	default:
		failure = c.dir.Fail(eventlog.Internal, "operation", "csv.%s is not a read", call.Operation)
	}
	if failure != nil {
		return nil, failure
	}
	out, err := json.Marshal(result)
	if err != nil {
		return nil, fmt.Errorf("write the result of csv.%s: %w", call.Operation, err)
	}
	return out, nil
}

type rowsResult struct {
	Columns []string            `json:"columns"`
	Rows    []map[string]string `json:"rows"`
	// Next is the `after` of the next page, null at the end.
	Next *int64 `json:"next"`
}

func (c *Connector) readRows(ctx context.Context, call connector.Call) (any, *eventlog.Failure) {
	p := struct {
		File  string `json:"file"`
		After int64  `json:"after"`
		Limit int    `json:"limit"`
	}{Limit: 1000}
	if failure := connector.DecodeParams(call.Params, &p); failure != nil {
		return nil, failure
	}
	result := rowsResult{Columns: []string{}, Rows: []map[string]string{}}
	size := 0
	failure := c.eachRow(ctx, call, p.File, func(l layout, raw []byte, row int64) bool {
		if row == 0 {
			result.Columns = l.columns()
			return true
		}
		if row <= p.After {
			return true
		}
		values := rowValues(l, cells(raw, l.comma))
		for name, value := range values {
			// Written as JSON a character can take six bytes.
			size += len(name) + jsonLength(value) + 6
		}
		if len(result.Rows) > 0 && (len(result.Rows) == p.Limit || size > connector.PageBytes) {
			last := row - 1
			result.Next = &last
			return false
		}
		result.Rows = append(result.Rows, values)
		return true
	})
	return result, failure
}

func (c *Connector) findRow(ctx context.Context, call connector.Call) (any, *eventlog.Failure) {
	var p struct {
		File   string `json:"file"`
		Column string `json:"column"`
		Value  any    `json:"value"`
	}
	if failure := connector.DecodeParams(call.Params, &p); failure != nil {
		return nil, failure
	}
	wanted := fmt.Sprint(p.Value)
	type foundRow struct {
		Row    int64             `json:"row"`
		Values map[string]string `json:"values"`
	}
	var found *foundRow
	var unknown *eventlog.Failure
	at := -1
	failure := c.eachRow(ctx, call, p.File, func(l layout, raw []byte, row int64) bool {
		if row == 0 {
			at = slices.Index(l.names, p.Column)
			if columns := l.columns(); !slices.Contains(columns, p.Column) {
				unknown = c.dir.Fail(eventlog.Logic, "column", "%s has no column %q; its columns are: %v", p.File,
					p.Column, columns)
				return false
			}
			return true
		}
		// Only the row that is found is read as a whole. A cell that is missing is empty.
		if cell, _ := cellAt(raw, l.comma, at); isText(cell, wanted) {
			found = &foundRow{Row: row, Values: rowValues(l, cells(raw, l.comma))}
		}
		return found == nil
	})
	if failure == nil {
		failure = unknown
	}
	return found, failure
}

// eachRow visits the header and the rows of a file that no append is working on.
func (c *Connector) eachRow(ctx context.Context, call connector.Call, file string, visit func(l layout, raw []byte,
	row int64) bool) *eventlog.Failure {
	name, failure := c.dir.Clean(file)
	if failure != nil {
		return failure
	}
	f, end, failure := c.read(ctx, call, name)
	if failure != nil {
		return failure
	}
	defer end()
	info, err := f.Stat()
	if err != nil {
		return c.dir.Failure("look at", name, err)
	}
	var broken *eventlog.Failure
	err = scanRows(io.NewSectionReader(f, 0, info.Size()), func(l layout, r record, row int64) bool {
		if !r.terminated {
			// A piece of a row that a dead process left is no row.
			x := index{info: info, tail: r.start}
			at, failure := x.tornAt(f, nil)
			if failure != nil || (at >= 0 && at <= r.start) {
				broken = failure
				return false
			}
		}
		if row%1024 == 0 && ctx.Err() != nil {
			broken = connector.ContextFailure(ctx, call)
			return false
		}
		if broken = unreadable(f, l, r.raw, row); broken != nil {
			return false
		}
		return visit(l, r.raw, row)
	})
	if err != nil {
		return scanFailure(f, err)
	}
	return broken
}

// unreadable says why a record cannot be given as it stands, or nil: bytes that are no text, or
// cells that belong to no column.
func unreadable(f *openFile, l layout, raw []byte, row int64) *eventlog.Failure {
	if !utf8.Valid(raw) {
		return notText(f, row)
	}
	if bytes.Count(raw, []byte{l.comma}) < len(l.header) {
		return nil // it has no more cells than the header
	}
	count, surplus := 0, false
	for c := newCellReader(raw, l.comma); c.next(); count++ {
		surplus = surplus || count >= len(l.header) && len(bytes.TrimSpace(c.cell)) > 0
	}
	if surplus {
		return f.dir.Fail(eventlog.Precondition, "surplus",
			"%s of %s has %d cells, the header has %d columns: put quotes around a cell that holds the separator %q, "+
				"or name the column in the header",
			rowName(row), f.name, count, len(l.header), l.comma)
	}
	return nil
}

// rowValues maps the columns to their text; cells that are missing are empty.
func rowValues(l layout, cells []string) map[string]string {
	values := make(map[string]string, len(l.names))
	for i, column := range l.names {
		if column == keyColumn {
			continue
		}
		values[column] = ""
		if i < len(cells) {
			values[column] = plainText(cells[i])
		}
	}
	return values
}

// jsonLength is the length of s as a JSON string.
func jsonLength(s string) int {
	quoted, err := json.Marshal(s)
	if err != nil {
		return 6 * len(s)
	}
	return len(quoted)
}
