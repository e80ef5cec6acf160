package maildir

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/confined"
	"github.com/pawl-run/pawl/engine/connector/maildir/mailparse"
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
	heads      *headCache
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
		Summary: "mails, oldest first {folder?: new|cur|both, after?: id, limit?} -> {mails: [{id, from, subject, " +
			"date, malformed?, error?, truncated?, …}], next}",
	},
	{
		Name: "get", Kind: connector.Get, Schema: json.RawMessage(getSchema),
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

// Read performs list and get.
func (c *Connector) Read(ctx context.Context, call connector.Call) (json.RawMessage, error) {
	var result any
	var failure *eventlog.Failure
	switch call.Operation {
	case "list":
		result, failure = c.list(ctx, call)
	case "get":
		result, failure = c.get(ctx, call)
	default:
		failure = c.dir.Fail(eventlog.Internal, "operation", "there is no maildir.%s", call.Operation)
	}
	if failure != nil {
		return nil, failure
	}
	out, err := json.Marshal(result)
	if err != nil {
		return nil, fmt.Errorf("write the result of maildir.%s: %w", call.Operation, err)
	}
	return out, nil
}

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

type listResult struct {
	Mails []mailparse.Head `json:"mails"`
	// Next is the `after` of the next page, null at the end.
	Next *string `json:"next"`
}

// pageBytes ends a page before its result grows beyond what one call may return.
const pageBytes = connector.MaxResult * 3 / 4

func (c *Connector) list(ctx context.Context, call connector.Call) (any, *eventlog.Failure) {
	p := struct {
		Folder string `json:"folder"`
		After  string `json:"after"`
		Limit  int    `json:"limit"`
	}{Folder: "both", Limit: 100}
	if failure := connector.DecodeParams(call.Params, &p); failure != nil {
		return nil, failure
	}
	files, failure := c.files(p.Folder)
	if failure != nil {
		return nil, failure
	}
	if p.After != "" {
		// The mail itself may be gone: its id alone says where it stood.
		at, found := position(files, p.After)
		if found {
			at++
		}
		files = files[at:]
	}
	result := listResult{Mails: []mailparse.Head{}}
	size := 0
	enough := pageTime(ctx)
	for i, file := range files {
		if failure := connector.ContextFailure(ctx, call); failure != nil {
			return nil, failure
		}
		if i > 0 && time.Now().After(enough) {
			result.Next = &files[i-1].id
			break
		}
		head, failure := c.readHead(ctx, call, file)
		if failure != nil {
			return nil, failure
		}
		encoded, err := json.Marshal(head)
		if err != nil {
			return nil, c.dir.Fail(eventlog.Internal, "io", "cannot describe the mail %s: %v", file.id, err)
		}
		size += len(encoded) + 1
		if i > 0 && (i == p.Limit || size > pageBytes) {
			result.Next = &files[i-1].id
			break
		}
		result.Mails = append(result.Mails, head)
	}
	return result, nil
}

// pageTime is when a page is to end before it is full: mails that take long to take apart must not use up
// the time of the call, since then none of them would ever be listed.
func pageTime(ctx context.Context) time.Time {
	now := time.Now()
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = now.Add(connector.DefaultTimeout)
	}
	return now.Add(deadline.Sub(now) / 2)
}
