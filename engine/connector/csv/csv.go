package csv

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/confined"
	"github.com/pawl-run/pawl/eventlog"
)

// maxSheets bounds how many files' indexes are kept.
const maxSheets = 64

// Config of the csv connector.
type Config struct {
	// Root is the folder with the files; it must exist.
	Root string `yaml:"root"`
	// Timeout bounds one appendRow, and so how soon after a crash its outcome may be asked for;
	// 0 means 5 s. A local append takes milliseconds.
	Timeout time.Duration `yaml:"timeout"`
	// BeforeAppend, if not nil, is called with the file locked, right before a row is written. It
	// is a seam for tests that need an append to take its time or to be interrupted.
	BeforeAppend func(ctx context.Context) `yaml:"-"`
}

// Connector is the csv connector.
type Connector struct {
	dir          *confined.Dir
	beforeAppend func(ctx context.Context)
	operations   []connector.Operation

	mu     sync.Mutex
	sheets map[string]*sheet
	// recent lists the sheets' names, least recently used first.
	recent []string
}

// New opens the folder. Errors name the configuration key.
func New(config Config) (*Connector, error) {
	dir, err := confined.Open("csv", config.Root)
	if err != nil {
		return nil, err
	}
	c := &Connector{dir: dir, beforeAppend: config.BeforeAppend, sheets: make(map[string]*sheet)}
	c.operations = slices.Clone(operations)
	c.operations[0].Timeout = cmp.Or(config.Timeout, 5*time.Second)
	return c, nil
}

// Name is "csv".
func (c *Connector) Name() string { return "csv" }

// Close releases the folder.
func (c *Connector) Close() error { return c.dir.Close() }

// Operations lists appendRow, readRows and findRow.
func (c *Connector) Operations() []connector.Operation { return c.operations }

var operations = []connector.Operation{
	{
		Name: "appendRow", Kind: connector.Mutate, Schema: json.RawMessage(appendSchema), Reconciles: true,
		Summary: "append {file, values: {column: cell} | [cells], header?} once -> {row} (1 = first row below the header)",
	},
	{
		Name: "readRows", Kind: connector.List, Schema: json.RawMessage(readSchema),
		Summary: "read rows {file, after?, limit?} -> {columns, rows: [{column: text}], next}",
	},
	{
		Name: "findRow", Kind: connector.Get, Schema: json.RawMessage(findSchema),
		Summary: "first row {file, column, value} -> {row, values: {column: text}} or null",
	},
}

// take waits for a file's turn: within the process calls queue, across processes they poll a lock.
func (c *Connector) take(ctx context.Context, name string) (*sheet, *eventlog.Failure) {
	c.mu.Lock()
	s := c.sheets[name]
	if s == nil {
		s = &sheet{turn: make(chan struct{}, 1)}
		c.sheets[name] = s
	}
	c.recent = append(slices.DeleteFunc(c.recent, func(n string) bool { return n == name }), name)
	c.forgetOldest()
	c.mu.Unlock()
	select {
	case s.turn <- struct{}{}:
		return s, nil
	case <-ctx.Done():
		return nil, c.dir.Fail(eventlog.Transient, "locked", "%s was in use by other calls all the time", name)
	}
}

// forgetOldest drops the index of files not used for long. A sheet that a call still holds may be
// dropped too: the file's own lock keeps calls apart, the turn only saves polling.
func (c *Connector) forgetOldest() {
	for len(c.recent) > maxSheets {
		delete(c.sheets, c.recent[0])
		c.recent = c.recent[1:]
	}
}

func (c *Connector) release(s *sheet) { <-s.turn }

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

// pageBytes ends a page before its result grows beyond what one call may return.
const pageBytes = connector.MaxResult * 3 / 4

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
	failure := c.eachRow(ctx, p.File, func(l layout, cells []string, row int64) bool {
		if row == 0 {
			result.Columns = l.columns()
			return true
		}
		if row <= p.After {
			return true
		}
		values := rowValues(l, cells)
		for name, value := range values {
			// Written as JSON a character can take six bytes.
			size += len(name) + jsonLength(value) + 6
		}
		if len(result.Rows) > 0 && (len(result.Rows) == p.Limit || size > pageBytes) {
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
	failure := c.eachRow(ctx, p.File, func(l layout, cells []string, row int64) bool {
		if row == 0 {
			if columns := l.columns(); !slices.Contains(columns, p.Column) {
				unknown = c.dir.Fail(eventlog.Logic, "column", "%s has no column %q; its columns are: %v", p.File, p.Column, columns)
				return false
			}
			return true
		}
		if values := rowValues(l, cells); values[p.Column] == wanted {
			found = &foundRow{Row: row, Values: values}
		}
		return found == nil
	})
	if failure == nil {
		failure = unknown
	}
	return found, failure
}

// eachRow visits the header and the rows of a file that no append is working on.
func (c *Connector) eachRow(ctx context.Context, file string, visit func(l layout, cells []string, row int64) bool) *eventlog.Failure {
	name, failure := c.dir.Clean(file)
	if failure != nil {
		return failure
	}
	f, failure := openLocked(ctx, c.dir, name, false)
	if failure != nil {
		return failure
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return c.dir.Failure("look at", name, err)
	}
	end := info.Size()
	var torn *eventlog.Failure
	err = scanRows(io.NewSectionReader(f, 0, end), func(l layout, r record, row int64) bool {
		if !r.terminated {
			// A piece of a row that a dead process left is no row.
			x := index{info: info, tail: r.start}
			at, failure := x.tornAt(f, nil)
			if failure != nil || (at >= 0 && at <= r.start) {
				torn = failure
				return false
			}
		}
		if row%1024 == 0 && ctx.Err() != nil {
			torn = connector.ContextFailure(ctx, connector.Call{Connector: "csv", Operation: "read of " + name})
			return false
		}
		return visit(l, cells(r.raw, l.comma), row)
	})
	if err != nil {
		return scanFailure(f, err)
	}
	return torn
}

// rowValues maps the columns to their text; cells that are missing are empty.
func rowValues(l layout, cells []string) map[string]string {
	values := make(map[string]string, len(l.header))
	for i, column := range l.header {
		if column == keyColumn {
			continue
		}
		if _, twice := values[column]; twice {
			continue // of columns with the same name the first counts
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
