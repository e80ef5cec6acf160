package files

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/confined"
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
	// Timeout bounds one write or move, and so how soon after a crash its outcome may be asked for; 0
	// means 10 s. A local write takes milliseconds.
	Timeout time.Duration `yaml:"timeout"`
}

// Connector is the files connector.
type Connector struct {
	dir   *confined.Dir
	marks *marks
	// rename is dir.RenameNew. A seam for tests: file servers may fail after they have renamed.
	rename func(from, to string) error
	// now is the time of this machine. A seam for tests.
	now func() time.Time

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
	c := &Connector{dir: dir, marks: &marks{dir: dir}, rename: dir.RenameNew, now: time.Now,
		operations: slices.Clone(operations)}
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

// Operations lists list, watch, read, write and move.
func (c *Connector) Operations() []connector.Operation { return c.operations }

var operations = []connector.Operation{
	{
		Name: "list", Kind: connector.List, Schema: json.RawMessage(listSchema),
		Result: json.RawMessage(listResultSchema),
		Summary: "files of a folder {path?, pattern?} -> {entries: [{name, path, type, size, modified}], unnamed?: " +
			"{count, names}}; unnamed are those whose name is not UTF-8: no path leads to them",
	},
	{
		Name: "watch", Kind: connector.List, Schema: json.RawMessage(watchSchema),
		Result: json.RawMessage(watchResultSchema),
		Summary: "files of a folder that have come to rest, by time {path?, pattern?, settled?: seconds, after?: id, " +
			"limit?} -> {files: [{id, name, path, size, modified}], next}",
	},
	{
		Name: "read", Kind: connector.Get, Schema: json.RawMessage(readSchema),
		Result:  json.RawMessage(readResultSchema),
		Summary: "a file {path, encoding?: utf8|base64} -> {path, content, encoding, size, modified}",
	},
	{
		Name: "write", Kind: connector.Mutate, Schema: json.RawMessage(writeSchema), Reconciles: true,
		Result:  json.RawMessage(writeResultSchema),
		Summary: "create or replace a file {path, content, encoding?: utf8|base64} -> {path, size, sha256}",
	},
	{
		Name: "move", Kind: connector.Mutate, Schema: json.RawMessage(moveSchema), Reconciles: true,
		Result:  json.RawMessage(moveSchema),
		Summary: "give a file another path, where none is {from, to} -> {from, to}",
	},
}

const (
	listSchema = `{"type": "object", "additionalProperties": false, "properties": {
  "path": {"type": "string", "minLength": 1}, "pattern": {"type": "string", "minLength": 1}}}`
	watchSchema = `{"type": "object", "additionalProperties": false, "properties": {
  "path": {"type": "string", "minLength": 1}, "pattern": {"type": "string", "minLength": 1},
  "settled": {"type": "integer", "minimum": 0, "maximum": 86400},
  "after": {"type": ["string", "null"]}, "limit": {"type": "integer", "minimum": 1, "maximum": 1000}}}`
	readSchema = `{"type": "object", "additionalProperties": false, "required": ["path"], "properties": {
  "path": {"type": "string", "minLength": 1}, "encoding": {"enum": ["utf8", "base64"]}}}`
	writeSchema = `{"type": "object", "additionalProperties": false, "required": ["path", "content"], "properties": {
  "path": {"type": "string", "minLength": 1}, "content": {"type": "string"}, "encoding": {"enum": ["utf8", "base64"]}}}`
	moveSchema = `{"type": "object", "additionalProperties": false, "required": ["from", "to"], "properties": {
  "from": {"type": "string", "minLength": 1}, "to": {"type": "string", "minLength": 1}}}`
)

// What the operations return; move returns what it is given.
const (
	listResultSchema = `{"type": "object", "required": ["entries"], "properties": {
  "entries": {"type": "array", "items": {"type": "object", "required": ["name", "path", "type", "size", "modified"],
    "properties": {"name": {"type": "string"}, "path": {"type": "string"}, "type": {"enum": ["file", "folder", "other"]},
      "size": {"type": "integer"}, "modified": {"type": "string"}}}},
  "unnamed": {"type": "object", "required": ["count", "names"], "properties": {
    "count": {"type": "integer"}, "names": {"type": "array", "items": {"type": "string"}}}}}}`
	watchResultSchema = `{"type": "object", "required": ["files", "next"], "properties": {
  "files": {"type": "array", "items": {"type": "object", "required": ["id", "name", "path", "size", "modified"],
    "properties": {"id": {"type": "string"}, "name": {"type": "string"}, "path": {"type": "string"},
      "size": {"type": "integer"}, "modified": {"type": "string"}}}},
  "next": {"type": ["string", "null"]}}}`
	readResultSchema = `{"type": "object", "required": ["path", "content", "encoding", "size", "modified"], "properties": {
  "path": {"type": "string"}, "content": {"type": "string"}, "encoding": {"enum": ["utf8", "base64"]},
  "size": {"type": "integer"}, "modified": {"type": "string"}}}`
	writeResultSchema = `{"type": "object", "required": ["path", "size", "sha256"], "properties": {
  "path": {"type": "string"}, "size": {"type": "integer"}, "sha256": {"type": "string"}}}`
)

func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
