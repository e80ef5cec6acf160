package csv

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/confined"
	"github.com/pawl-run/pawl/engine/connector/turn"
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
	// Places is how many calls may read a large file at once; 0 sets no bound. The engine's own process reads it, so
	// other workflows would wait for the processor.
	Places int `yaml:"-"`
	// BeforeAppend, if not nil, is called with the file locked, right before a row is written. It
	// is a seam for tests that need an append to take its time or to be interrupted.
	BeforeAppend func(ctx context.Context) `yaml:"-"`
}

// Connector is the csv connector.
type Connector struct {
	dir          *confined.Dir
	beforeAppend func(ctx context.Context)
	operations   []connector.Operation
	locks        locks
	turns        *turn.Queue

	mu     sync.Mutex
	sheets map[string]*sheet
	// recent lists the sheets' names, least recently used first.
	recent []string
}

// New opens the folder. Errors name the configuration key.
func New(config Config) (*Connector, error) {
	if err := connector.CheckTimeout("csv", config.Timeout); err != nil {
		return nil, err
	}
	dir, err := confined.Open("csv", config.Root)
	if err != nil {
		return nil, err
	}
	c := &Connector{dir: dir, beforeAppend: config.BeforeAppend, locks: locks{of: make(map[string]*lock)},
		turns: newTurns(config.Places), sheets: make(map[string]*sheet)}
	c.operations = slices.Clone(operations)
	c.operations[0].Timeout = cmp.Or(config.Timeout, 5*time.Second)
	return c, nil
}

// Name is "csv".
func (c *Connector) Name() string { return "csv" }

// Close releases the folder.
func (c *Connector) Close() error { return c.dir.Close() }

// CallEnding says that a call is over once it has returned or its process is gone.
func (c *Connector) CallEnding(connector.Call) connector.Ending { return connector.Ending{} }

// Operations lists appendRow, readRows and findRow.
func (c *Connector) Operations() []connector.Operation { return c.operations }

// CallCheck refuses files outside of the folder.
func (c *Connector) CallCheck(call connector.Call) *eventlog.Failure {
	var p struct {
		File string `json:"file"`
	}
	if err := json.Unmarshal(call.Params, &p); err != nil {
		return c.dir.Fail(eventlog.Logic, "params", "the parameters cannot be read: %v", err)
	}
	_, failure := c.dir.Clean(p.File)
	return failure
}

var operations = []connector.Operation{
	{
		Name: "appendRow", Kind: connector.Mutate, Schema: json.RawMessage(appendSchema), Reconciles: true,
		Result: json.RawMessage(appendResultSchema),
		Summary: "append {file, values: {column: cell} | [cells, in the order of header or else of the file], " +
			"header?} once -> {row} (1 = first row below the header)",
	},
	{
		Name: "readRows", Kind: connector.List, Schema: json.RawMessage(readSchema),
		Result: json.RawMessage(readResultSchema),
		Summary: "read rows {file, after?, limit?} -> {columns, rows: [{column: text}], next}; of two columns a the " +
			"second is \"a (2)\"; text that is not UTF-8 and cells without a column are failures",
	},
	{
		Name: "findRow", Kind: connector.Get, Schema: json.RawMessage(findSchema),
		Result:  json.RawMessage(findResultSchema),
		Summary: "first row {file, column, value} -> {row, values: {column: text}} or null",
	},
}

// sheet is what is kept of a file. The caller has the file alone.
func (c *Connector) sheet(name string) *sheet {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sheets[name]
	if s == nil {
		s = &sheet{}
		c.sheets[name] = s
	}
	c.recent = append(slices.DeleteFunc(c.recent, func(n string) bool { return n == name }), name)
	c.forgetOldest()
	return s
}

// forgetOldest drops the index of files not used for long.
func (c *Connector) forgetOldest() {
	for len(c.recent) > maxSheets {
		delete(c.sheets, c.recent[0])
		c.recent = c.recent[1:]
	}
}
