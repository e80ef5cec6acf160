package maildir

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os/exec"
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/confined"
	"github.com/pawl-run/pawl/engine/connector/mailparse"
	"github.com/pawl-run/pawl/eventlog"
)

// Config of the maildir connector.
type Config struct {
	// Root is a Maildir, or a folder of .eml files; it must exist.
	Root string `yaml:"root"`
	// Timeout bounds one call; 0 means the usual 30 s.
	Timeout time.Duration `yaml:"timeout"`
	// Parser makes the command of a process that takes mails apart; see mailparse.Config. Required.
	Parser func() *exec.Cmd `yaml:"-"`
	// Logger is told, once each, of what looks like a mail and is left out; nil means slog.Default().
	Logger *slog.Logger `yaml:"-"`
}

// Connector is the maildir connector.
type Connector struct {
	dir        *confined.Dir
	operations []connector.Operation
	links      *links
	parser     *mailparse.Parser
	heads      headCache
}

// New opens the folder. Errors name the configuration key.
func New(config Config) (*Connector, error) {
	if err := connector.CheckTimeout("maildir", config.Timeout); err != nil {
		return nil, err
	}
	parser, err := mailparse.New(mailparse.Config{Command: config.Parser, Logger: config.Logger})
	if err != nil {
		return nil, err
	}
	dir, err := confined.Open("maildir", config.Root)
	if err != nil {
		return nil, err
	}
	c := &Connector{dir: dir, operations: slices.Clone(operations), links: newLinks(dir.Root.Name(), config.Logger),
		parser: parser, heads: newHeadCache()}
	for i := range c.operations {
		c.operations[i].Timeout = config.Timeout
	}
	return c, nil
}

// Name is "maildir".
func (c *Connector) Name() string { return "maildir" }

// Close releases the folder and ends the processes that take mails apart.
func (c *Connector) Close() error { return errors.Join(c.parser.Close(), c.dir.Close()) }

// Operations lists list and get.
func (c *Connector) Operations() []connector.Operation { return c.operations }

var operations = []connector.Operation{
	{
		Name: "list", Kind: connector.List, Schema: json.RawMessage(listSchema),
		Result: json.RawMessage(listResultSchema),
		Summary: "mails, oldest first {folder?: new|cur|both, after?: id, limit?} -> {mails: [{id, from, subject, " +
			"date, malformed?, error?, truncated?, …}], next}",
	},
	{
		Name: "get", Kind: connector.Get, Schema: json.RawMessage(getSchema),
		Result: json.RawMessage(getResultSchema),
		Summary: "one mail {id, headers?: [name]} -> {id, messageId, from, to, cc, subject, date, text, html, " +
			"attachments, truncated?}",
	},
}

const (
	listSchema = `{"type": "object", "additionalProperties": false, "properties": {
  "folder": {"enum": ["new", "cur", "both"]},
  "after": {"type": ["string", "null"]},
  "limit": {"type": "integer", "minimum": 1, "maximum": 1000}}}`
	getSchema = `{"type": "object", "additionalProperties": false, "required": ["id"], "properties": {
  "id": {"type": "string", "minLength": 1, "maxLength": 255},
  "headers": {"type": "array", "maxItems": 50, "items": {"type": "string", "minLength": 1}}}}`
)

// What the operations return.
const (
	listResultSchema = `{"type": "object", "required": ["mails", "next"], "properties": {
  "mails": {"type": "array", "items": {"type": "object", "required": [` + mailparse.HeadRequired +
		`], "properties": {` + mailparse.HeadProperties + `}}},
  "next": {"type": ["string", "null"]}}}`
	getResultSchema = `{"type": "object", "required": [` + mailparse.MailRequired + `],
  "properties": {` + mailparse.MailProperties + `}}`
)

// Perform refuses: there is no mutation.
func (c *Connector) Perform(_ context.Context, call connector.Call) connector.Outcome {
	return connector.FailedWith(c.dir.Fail(eventlog.Internal, "operation", "maildir.%s is not a mutation",
		call.Operation))
}

// Reconcile is never asked: there is no mutation.
func (c *Connector) Reconcile(_ context.Context, call connector.Call) connector.Reconciliation {
	return connector.RetryWith(c.dir.Fail(eventlog.Internal, "operation", "maildir.%s is not a mutation",
		call.Operation))
}
