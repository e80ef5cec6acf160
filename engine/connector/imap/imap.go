package imap

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/emersion/go-imap/v2"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/mailparse"
	"github.com/pawl-run/pawl/engine/connector/redact"
	"github.com/pawl-run/pawl/eventlog"
)

// Connector is the imap connector.
type Connector struct {
	pool       *pool
	redact     *redact.Redactor
	parser     *mailparse.Parser
	known      *mailparse.Heads[struct{}]
	operations []connector.Operation
}

// New makes the connector; it connects to nothing yet. Errors name the configuration key.
func New(config Config) (*Connector, error) {
	s, err := newServer(config)
	if err != nil {
		return nil, err
	}
	parser, err := mailparse.New(mailparse.Config{Command: config.Parser, Logger: config.Logger})
	if err != nil {
		return nil, err
	}
	return &Connector{
		pool:   newPool(s, cmp.Or(config.Connections, defaultConnections)),
		redact: redact.New(append([]string{config.Password}, config.Secrets...)), parser: parser,
		known: mailparse.NewHeads(func(_, _ struct{}) bool { return true }), // the mail behind an id never changes
		operations: []connector.Operation{{
			Name: "list", Kind: connector.List, Schema: json.RawMessage(listSchema), Timeout: config.Timeout,
			Result: json.RawMessage(listResultSchema),
			Summary: "mails, oldest first {mailbox?, after?: id, since?: date, limit?} -> {mails: [{id, from, subject, " +
				"date, flags, received, malformed?, error?, truncated?, …}], next}",
		}, {
			Name: "get", Kind: connector.Get, Schema: json.RawMessage(getSchema), Timeout: config.Timeout,
			Result: json.RawMessage(getResultSchema),
			Summary: "one mail {id, headers?: [name]} -> {id, messageId, from, to, cc, subject, date, text, html, " +
				"attachments, flags, received, truncated?}",
		}},
	}, nil
}

// Name is "imap".
func (c *Connector) Name() string { return "imap" }

// Operations lists list and get.
func (c *Connector) Operations() []connector.Operation { return c.operations }

// Close closes the connections that wait for a call, and ends the processes that take mails apart.
func (c *Connector) Close() error {
	c.pool.close()
	return c.parser.Close()
}

const (
	listSchema = `{"type": "object", "additionalProperties": false, "properties": {
  "mailbox": {"type": "string", "minLength": 1, "maxLength": 480},
  "after": {"type": ["string", "null"]},
  "since": {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
  "limit": {"type": "integer", "minimum": 1, "maximum": 1000}}}`
	getSchema = `{"type": "object", "additionalProperties": false, "required": ["id"], "properties": {
  "id": {"type": "string", "minLength": 1, "maxLength": 512},
  "headers": {"type": "array", "maxItems": 50, "items": {"type": "string", "minLength": 1}}}}`
	serverRequired   = `, "flags", "received"`
	serverProperties = `, "flags": {"type": "array", "items": {"type": "string"}},
    "received": {"type": ["string", "null"]}`
	listResultSchema = `{"type": "object", "required": ["mails", "next"], "properties": {
  "mails": {"type": "array", "items": {"type": "object", "required": [` + mailparse.HeadRequired + serverRequired +
		`], "properties": {` + mailparse.HeadProperties + serverProperties + `}}},
  "next": {"type": ["string", "null"]}}}`
	getResultSchema = `{"type": "object", "required": [` + mailparse.MailRequired + serverRequired + `],
  "properties": {` + mailparse.MailProperties + serverProperties + `}}`
)

// Read performs list and get.
func (c *Connector) Read(ctx context.Context, call connector.Call) (json.RawMessage, error) {
	var result any
	var err error
	switch call.Operation {
	case "list":
		result, err = c.list(ctx, call)
	case "get":
		result, err = c.get(ctx, call)
	default:
		err = connector.Failf(eventlog.Internal, connector.CodeKind, "there is no imap.%s", call.Operation)
	}
	if err != nil {
		return nil, c.redact.Failure(c.failure(ctx, call, err))
	}
	out, err := json.Marshal(result)
	if err != nil {
		return nil, fmt.Errorf("write the result of imap.%s: %w", call.Operation, err)
	}
	blanked, _ := c.redact.Bytes(out)
	return blanked, nil
}

// Perform refuses: there is no mutation.
func (c *Connector) Perform(_ context.Context, call connector.Call) connector.Outcome {
	return connector.FailedWith(connector.Failf(eventlog.Internal, connector.CodeKind, "imap.%s is not a mutation",
		call.Operation))
}

// Reconcile is never asked: there is no mutation.
func (c *Connector) Reconcile(_ context.Context, call connector.Call) connector.Reconciliation {
	return connector.RetryWith(connector.Failf(eventlog.Internal, connector.CodeKind, "imap.%s is not a mutation",
		call.Operation))
}

// failure is the meaning of an error: a failure of our own, the end of the call's time, an answer of the server, or a
// server that cannot be reached.
func (c *Connector) failure(ctx context.Context, call connector.Call, err error) *eventlog.Failure {
	var own *eventlog.Failure
	var refused *imap.Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &refused):
		return connector.Failf(classOf(err, refused), "imap.refused", "the mail server %s: %s", c.pool.server.address,
			c.shown(err.Error()))
	}
	if ended := connector.ContextFailure(ctx, call); ended != nil {
		ended.Message += fmt.Sprintf(" (mail server %s)", c.pool.server.address)
		return ended
	}
	code := "imap.connection"
	if errors.Is(err, errTooMuch) || errors.Is(err, errTooLists) || errors.Is(err, errLonger) {
		code = "imap.answer"
	}
	return connector.Failf(eventlog.Transient, code, "the mail server %s: %s", c.pool.server.address, c.shown(err.Error()))
}

// shown is what is kept of an answer, in one line that can be printed. Secrets are blanked out before it is cut: the
// cut could leave a part of one, which would not be recognised.
func (c *Connector) shown(text string) string {
	text, _, _ = strings.Cut(c.redact.Text(text), "\ngoroutine ") // the library adds a trace to what went wrong in it
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	return eventlog.Clip(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '·'
		}
		return r
	}, text), maxSaid)
}

// examined opens a mailbox for a call. With a numbering, the mailbox must still have it.
func examined(ctx context.Context, s *session, mailbox string, numbering uint32) (mails, validity uint32, err error) {
	mails, validity, err = s.examine(ctx, mailbox)
	switch {
	case err != nil:
		return 0, 0, &asked{"the mailbox " + mailbox + " cannot be opened", err}
	case validity == 0:
		return 0, 0, connector.Failf(eventlog.Precondition, "imap.numbers", "the mail server gives the mails in %s no "+
			"numbers that last (UIDVALIDITY), so they have no ids", mailbox)
	case numbering != 0 && numbering != validity:
		return 0, 0, connector.Failf(eventlog.Precondition, "imap.renumbered", "the mail server has numbered the mails in "+
			"%s anew (UIDVALIDITY was %d and is %d), so earlier ids name no mail any more: list them from the beginning, "+
			"without after, and tell known mails by their messageId", mailbox, numbering, validity)
	}
	return mails, validity, nil
}

// notParsed is a failure to take a mail apart that says nothing about the mail.
func notParsed(ctx context.Context, call connector.Call, id mailID, err error) error {
	if failure := connector.ContextFailure(ctx, call); failure != nil {
		return failure
	}
	return connector.Failf(eventlog.Transient, "imap.parser",
		"the mail %s could not be taken apart now: %v", id, err)
}
