package smtp

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/redact"
	"github.com/pawl-run/pawl/engine/connector/turn"
	"github.com/pawl-run/pawl/eventlog"
)

// defaultTimeout bounds one mail; servers take their time to greet and to look at a mail.
const defaultTimeout = time.Minute

// maxConnections is how many calls at once have a connection to the server, each one of its own. A call that gets none
// within its time was not sent. A connection that is only listened to after the call's deadline is not counted, nor
// one that waits for the server's goodbye.
const maxConnections = 10

// Connector is the smtp connector.
type Connector struct {
	server     *server
	redact     *redact.Redactor
	listen     time.Duration
	farewell   time.Duration
	slots      *turn.Queue
	operations []connector.Operation

	// closed ends the calls that listen on for a late answer.
	closed context.Context
	close  context.CancelFunc
}

// New makes the connector; it connects to nothing yet. Errors are *connector.SettingError.
func New(config Config) (*Connector, error) {
	s, err := newServer(config)
	if err != nil {
		return nil, err
	}
	secrets := append([]string{config.Password}, config.Secrets...)
	c := &Connector{
		server: s, redact: redact.New(secrets), listen: cmp.Or(config.Listen, connector.DefaultListen),
		farewell: cmp.Or(config.Farewell, defaultFarewell), slots: turn.New(turn.Bounds{Target: s.address,
			Places: maxConnections, PlacesFrom: "a bound of the smtp connector"}),
		operations: []connector.Operation{{
			Name: "send", Kind: connector.Mutate, Schema: json.RawMessage(sendSchema),
			Result:  json.RawMessage(sendResultSchema),
			Timeout: cmp.Or(config.Timeout, defaultTimeout),
			Summary: "send a mail {to, subject, text?, html?, cc?, bcc?, from?, replyTo?, inReplyTo?, headers?, " +
				"attachments?} -> {messageId, answer}",
		}},
	}
	c.closed, c.close = context.WithCancel(context.Background())
	return c, nil
}

// Name is "smtp".
func (c *Connector) Name() string { return "smtp" }

// Operations lists send.
func (c *Connector) Operations() []connector.Operation { return c.operations }

// CallCheck refuses what is no mail, and senders that are not configured.
func (c *Connector) CallCheck(call connector.Call) *eventlog.Failure {
	_, failure := c.server.parse(call)
	return c.redact.Failure(failure)
}

// Judge names a sender that is not configured, where the text of a script shows it.
func (c *Connector) Judge(_ string, params *connector.Partial) []connector.Violation {
	for _, m := range params.Members {
		var from string
		if m.Name != "from" || json.Unmarshal(m.Value.Value, &from) != nil {
			continue
		}
		if _, failure := c.server.sender(from); failure != nil && failure.Code == codeFrom {
			return []connector.Violation{{Where: []string{"from"}, Code: failure.Code, Message: failure.Message,
				Fix: "add the address under connectors.smtp.from in pawl.yaml and start the engine again, or correct it"}}
		}
	}
	return nil
}

// MayWait implements connector.TurnWaiter: every mail needs a connection.
func (c *Connector) MayWait() bool { return true }

// CallTurn waits for a connection that the mail may use.
func (c *Connector) CallTurn(ctx context.Context, call connector.Call) (connector.Turn, *eventlog.Failure) {
	return c.slots.Take(ctx, call)
}

// Waiting lists the workflow's mails that wait for a connection.
func (c *Connector) Waiting(workflow eventlog.WorkflowName) []connector.Waiting {
	return turn.Waiting(workflow, c.slots)
}

// Close ends the calls that listen on after their deadline.
func (c *Connector) Close() error {
	c.close()
	return nil
}

// Read refuses: there is nothing to read.
func (c *Connector) Read(_ context.Context, call connector.Call) (json.RawMessage, error) {
	return nil, connector.Failf(eventlog.Internal, connector.CodeKind, "smtp.%s is not a read", call.Operation)
}

// Reconcile is never asked: no server can be asked what became of a mail.
func (c *Connector) Reconcile(_ context.Context, call connector.Call) connector.Reconciliation {
	return connector.RetryWith(connector.Failf(eventlog.Internal, connector.CodeKind,
		"smtp.%s cannot be asked what became of a call", call.Operation))
}
