package files

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/confined"
	"github.com/pawl-run/pawl/eventlog"
)

// maxFile is the most bytes that can be read or written at once. Encoded as JSON or base64 it has
// to fit a call's result too, so a file of many special characters may have to be smaller.
const maxFile = connector.MaxResult

// maxEntries bounds one list.
const maxEntries = 5000

// maxUnnamed bounds how many of the entries are shown that have no usable name.
const maxUnnamed = 20

// Config of the files connector.
type Config struct {
	// Root is the folder scripts may use; it must exist.
	Root string `yaml:"root"`
	// Timeout bounds one write, and so how soon after a crash its outcome may be asked for; 0
	// means 10 s. A local write takes milliseconds.
	Timeout time.Duration `yaml:"timeout"`
}

// Connector is the files connector.
type Connector struct {
	dir   *confined.Dir
	marks *marks

	operations []connector.Operation
}

// New opens the folder. Errors name the configuration key.
func New(config Config) (*Connector, error) {
	if err := connector.CheckTimeout("files", config.Timeout); err != nil {
		return nil, err
	}
	dir, err := confined.Open("files", config.Root)
	if err != nil {
		return nil, err
	}
	c := &Connector{dir: dir, marks: &marks{dir: dir}, operations: slices.Clone(operations)}
	for i := range c.operations {
		if c.operations[i].Kind == connector.Mutate {
			c.operations[i].Timeout = cmp.Or(config.Timeout, 10*time.Second)
		}
	}
	return c, nil
}

// Name is "files".
func (c *Connector) Name() string { return "files" }

// Close releases the folder.
func (c *Connector) Close() error { return c.dir.Close() }

// CallEnding says that a call is over once it has returned or its process is gone.
func (c *Connector) CallEnding(connector.Call) connector.Ending { return connector.Ending{} }

// Operations lists list, read, write and move.
func (c *Connector) Operations() []connector.Operation { return c.operations }

var operations = []connector.Operation{
	{
		Name: "list", Kind: connector.List, Schema: json.RawMessage(listSchema),
		Summary: "files of a folder {path?, pattern?} -> {entries: [{name, path, type, size, modified}], unnamed?: " +
			"{count, names}}; unnamed are those whose name is not UTF-8: no path leads to them",
	},
	{
		Name: "read", Kind: connector.Get, Schema: json.RawMessage(readSchema),
		Summary: "a file {path, encoding?: utf8|base64} -> {path, content, encoding, size, modified}",
	},
	{
		Name: "write", Kind: connector.Mutate, Schema: json.RawMessage(writeSchema), Reconciles: true,
		Summary: "create or replace a file {path, content, encoding?: utf8|base64} -> {path, size, sha256}",
	},
	{
		Name: "move", Kind: connector.Mutate, Schema: json.RawMessage(moveSchema), Reconciles: true,
		Summary: "give a file another path, where none is {from, to} -> {from, to}",
	},
}

const (
	listSchema = `{"type": "object", "additionalProperties": false, "properties": {
  "path": {"type": "string", "minLength": 1}, "pattern": {"type": "string", "minLength": 1}}}`
	readSchema = `{"type": "object", "additionalProperties": false, "required": ["path"], "properties": {
  "path": {"type": "string", "minLength": 1}, "encoding": {"enum": ["utf8", "base64"]}}}`
	writeSchema = `{"type": "object", "additionalProperties": false, "required": ["path", "content"], "properties": {
  "path": {"type": "string", "minLength": 1}, "content": {"type": "string"}, "encoding": {"enum": ["utf8", "base64"]}}}`
	moveSchema = `{"type": "object", "additionalProperties": false, "required": ["from", "to"], "properties": {
  "from": {"type": "string", "minLength": 1}, "to": {"type": "string", "minLength": 1}}}`
)

// Read performs list and read.
func (c *Connector) Read(_ context.Context, call connector.Call) (json.RawMessage, error) {
	var result any
	var failure *eventlog.Failure
	switch call.Operation {
	case "list":
		result, failure = c.list(call.Params)
	case "read":
		result, failure = c.read(call.Params)
	default:
		failure = c.dir.Fail(eventlog.Internal, "operation", "files.%s is not a read", call.Operation)
	}
	if failure != nil {
		return nil, failure
	}
	out, err := json.Marshal(result)
	if err != nil {
		return nil, fmt.Errorf("write the result of files.%s: %w", call.Operation, err)
	}
	return out, nil
}

// entry is one file or folder of a list.
type entry struct {
	Name string `json:"name"`
	Path string `json:"path"`
	// Type is "file", "folder" or "other" (links, pipes, devices).
	Type     string `json:"type"`
	Size     int64  `json:"size"`
	Modified string `json:"modified"`
}

// unnamed are entries whose names are not UTF-8. A path is JSON text, so there is none that leads to
// them, and one that only looks like theirs would name nothing or another file.
type unnamed struct {
	Count int `json:"count"`
	// Names are the first of them, each byte that is no text written as \xE9.
	Names []string `json:"names"`
}

type listResult struct {
	Entries []entry  `json:"entries"`
	Unnamed *unnamed `json:"unnamed,omitempty"`
}

func (c *Connector) list(params json.RawMessage) (any, *eventlog.Failure) {
	p := struct {
		Path    string `json:"path"`
		Pattern string `json:"pattern"`
	}{Path: "."}
	if failure := connector.DecodeParams(params, &p); failure != nil {
		return nil, failure
	}
	name, failure := c.dir.Clean(p.Path)
	if failure != nil {
		return nil, failure
	}
	if _, err := path.Match(p.Pattern, ""); err != nil {
		return nil, c.dir.Fail(eventlog.Logic, "pattern", "%q is not a pattern; use *, ? and [a-z], e.g. *.txt",
			p.Pattern)
	}
	folder, err := c.dir.Root.Open(name)
	if err != nil {
		return nil, c.dir.Failure("open", name, err)
	}
	defer folder.Close()
	found, err := folder.ReadDir(-1)
	if err != nil {
		return nil, c.dir.Failure("list", name, err)
	}
	entries := []entry{}
	var nameless []string
	for _, f := range found {
		matches, _ := path.Match(p.Pattern, f.Name()) // the pattern was checked
		if strings.HasPrefix(f.Name(), ".pawl") || (p.Pattern != "" && !matches) {
			continue
		}
		if !utf8.ValidString(f.Name()) {
			nameless = append(nameless, f.Name())
			continue
		}
		info, err := f.Info()
		if err != nil {
			continue // removed since
		}
		entries = append(entries, entry{
			Name: f.Name(), Path: path.Join(name, f.Name()), Type: typeOf(info.Mode()),
			Size: info.Size(), Modified: timestamp(info.ModTime()),
		})
	}
	if len(entries) > maxEntries {
		return nil, c.dir.Fail(eventlog.Precondition, "tooMany",
			"%s has %d matching entries, the limit is %d: use a pattern or sub-folders", name, len(entries), maxEntries)
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.Name, b.Name) })
	return listResult{entries, newUnnamed(nameless)}, nil
}

// newUnnamed describes entries without a usable name, or is nil if there are none.
func newUnnamed(names []string) *unnamed {
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	u := &unnamed{Count: len(names)}
	for _, name := range names[:min(len(names), maxUnnamed)] {
		u.Names = append(u.Names, escaped(name))
	}
	return u
}

// escaped writes every byte of a name that is no text as \xE9.
func escaped(name string) string {
	var out strings.Builder
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRuneInString(name[i:])
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&out, `\x%02X`, name[i])
		} else {
			out.WriteString(name[i : i+size])
		}
		i += size
	}
	return out.String()
}

func typeOf(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "file"
	case mode.IsDir():
		return "folder"
	default:
		return "other"
	}
}

func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func (c *Connector) read(params json.RawMessage) (any, *eventlog.Failure) {
	p := struct {
		Path     string `json:"path"`
		Encoding string `json:"encoding"`
	}{Encoding: "utf8"}
	if failure := connector.DecodeParams(params, &p); failure != nil {
		return nil, failure
	}
	name, failure := c.dir.Clean(p.Path)
	if failure != nil {
		return nil, failure
	}
	data, failure := c.dir.Read(name, maxFile)
	if failure != nil {
		return nil, failure
	}
	info, err := c.dir.Root.Stat(name)
	if err != nil {
		return nil, c.dir.Failure("look at", name, err)
	}
	content := string(data)
	switch {
	case p.Encoding == "base64":
		content = base64.StdEncoding.EncodeToString(data)
	case !utf8.Valid(data):
		return nil, c.dir.Fail(eventlog.Precondition, "encoding", "%s is not UTF-8 text: read it with encoding base64",
			name)
	}
	return map[string]any{
		"path": p.Path, "content": content, "encoding": p.Encoding, "size": len(data),
		"modified": timestamp(info.ModTime()),
	}, nil
}
