package mcpcall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/redact"
	"github.com/pawl-run/pawl/eventlog"
)

// The members of _meta in which a server is told the key, the deadline, the workflow and the run of a mutation.
const (
	metaKey      = "run.pawl/idempotencyKey"
	metaDeadline = "run.pawl/deadline"
	metaWorkflow = "run.pawl/workflow"
	metaRun      = "run.pawl/run"
)

// Codes of failures.
const (
	// CodeServer: the server's process cannot be started or has ended.
	CodeServer = "mcp.server"
	// CodeTool: the tool answered an error.
	CodeTool = "mcp.tool"
	// CodeRefused: the server refused the request itself.
	CodeRefused = "mcp.refused"
)

// Connector is one MCP server. It implements connector.Connector.
type Connector struct {
	config Config
	server *server
	secret *redact.Redactor
	// listen is how long an answer is waited for after the deadline.
	listen time.Duration
}

// New makes the connector, and starts its server to learn its tools. A server that does not start is no error: the log
// says why, it has no operations, and each call tries again.
func New(ctx context.Context, config Config) (*Connector, error) {
	if err := config.Validate(config.Name); err != nil {
		return nil, err
	}
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	c := &Connector{config: config, server: &server{config: config, logger: config.Logger, pingTimeout: pingTimeout},
		secret: redact.New(config.Secrets), listen: connector.DefaultListen}
	if _, err := c.server.connected(ctx); err != nil {
		config.Logger.Warn("an MCP server does not answer, so its tools are not there", "connector", config.Name,
			"error", err)
	}
	return c, nil
}

// Close ends the server.
func (c *Connector) Close() error { return c.server.close() }

// Name implements connector.Connector.
func (c *Connector) Name() string { return c.config.Name }

// Operations implements connector.Connector: the tools of the last look.
func (c *Connector) Operations() []connector.Operation {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	return c.server.operations
}

// tool is the server's own name of an operation.
func (c *Connector) tool(operation string) string {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	return c.server.tools[operation]
}

// Read implements connector.Connector.
func (c *Connector) Read(ctx context.Context, call connector.Call) (json.RawMessage, error) {
	text, failure := c.read(ctx, call)
	if failure != nil {
		return nil, c.secret.Failure(failure)
	}
	text, _ = c.secret.Bytes(text)
	return text, nil
}

func (c *Connector) read(ctx context.Context, call connector.Call) (json.RawMessage, *eventlog.Failure) {
	answer, err := c.server.ask(ctx, params(c.tool(call.Operation), call.Params))
	switch refused := refusal(err); {
	case refused != nil:
		return nil, connector.Failf(eventlog.Logic, CodeRefused, "%s.%s was refused: %s", call.Connector, call.Operation,
			refused.Message)
	case err != nil:
		return nil, connector.Failf(eventlog.Transient, CodeServer, "%s.%s was not answered: %v", call.Connector,
			call.Operation, err)
	case answer.IsError:
		return nil, connector.Failf(eventlog.Precondition, CodeTool, "%s.%s failed: %s", call.Connector, call.Operation,
			said(answer))
	}
	text, err := result(answer)
	if err != nil {
		return nil, connector.Failf(eventlog.Internal, connector.CodeAnswer, "%s.%s answered what cannot be read: %v",
			call.Connector, call.Operation, err)
	}
	return text, nil
}

// params are those of a request; a mutation is told apart by its key.
func params(tool string, arguments json.RawMessage) *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: tool, Arguments: arguments}
}

// Perform sends the mutation once.
func (c *Connector) Perform(ctx context.Context, call connector.Call) connector.Outcome {
	f := &flight{gate: func() *eventlog.Failure { return connector.MayLeave(ctx, call) }}
	// What has been written is listened for after the deadline, and not after the caller has given up.
	listening, cancel := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), flightKey{}, f))
	defer cancel()
	f.giveUp = cancel
	stop := context.AfterFunc(ctx, func() {
		if !f.wrote.Load() || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			cancel()
			return
		}
		timer := time.NewTimer(c.listen)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-listening.Done():
		}
	})
	defer stop()
	request := params(c.tool(call.Operation), call.Params)
	request.Meta = mcp.Meta{metaKey: call.Key, metaWorkflow: string(call.Workflow), metaRun: string(call.Run)}
	if !call.Deadline.IsZero() {
		request.Meta[metaDeadline] = call.Deadline.UTC().Format(time.RFC3339Nano)
	}
	answer, err := c.server.ask(listening, request)
	out := c.secret.Outcome(c.outcome(ctx, call, f, answer, err))
	out.Result, _ = c.secret.Bytes(out.Result)
	return out
}

// outcome is what an answer, or none, means (F4).
func (c *Connector) outcome(ctx context.Context, call connector.Call, f *flight, answer *mcp.CallToolResult,
	err error) connector.Outcome {
	if !f.wrote.Load() {
		if refused := f.refused.Load(); refused != nil {
			return connector.FailedWith(refused)
		}
		if failure := connector.ContextFailure(ctx, call); failure != nil {
			return connector.FailedWith(failure)
		}
		return connector.FailedWith(connector.Failf(eventlog.Transient, CodeServer, "%s.%s was not sent: %v", call.Connector,
			call.Operation, err))
	}
	if refused := refusal(err); refused != nil {
		return connector.FailedWith(connector.Failf(eventlog.Logic, CodeRefused, "%s refused %s: %s", call.Connector,
			call.Operation, refused.Message))
	}
	if err != nil && f.status.Load() != 0 {
		return connector.FailedWith(f.turnedAway(call))
	}
	if err != nil {
		return connector.UncertainWith(connector.Failf(eventlog.Transient, CodeServer, "%s.%s was sent and not answered: %v",
			call.Connector, call.Operation, err))
	}
	if answer.IsError {
		failure := connector.Failf(eventlog.Precondition, CodeTool, "%s.%s answered an error: %s", call.Connector,
			call.Operation, said(answer))
		if c.config.Tools[c.tool(call.Operation)].ErrorMeansFailed {
			return connector.FailedWith(failure)
		}
		return connector.Outcome{Status: connector.Uncertain, Failure: failure, Answered: true}
	}
	text, err := result(answer)
	if err != nil {
		return connector.Outcome{Status: connector.Uncertain, Answered: true, Failure: connector.Failf(eventlog.Internal,
			connector.CodeAnswer, "%s.%s answered what cannot be read: %v", call.Connector, call.Operation, err)}
	}
	return connector.Outcome{Status: connector.Applied, Result: text}
}

// refusal is the error of a server that did not look at a request: it knows no such method or tool, or the parameters
// are none. Nil for every other error.
func refusal(err error) *jsonrpc.Error {
	var answered *jsonrpc.Error
	if errors.As(err, &answered) {
		switch answered.Code {
		case jsonrpc.CodeParseError, jsonrpc.CodeInvalidRequest, jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidParams:
			return answered
		}
	}
	return nil
}

// result is what scripts get: the structured result where there is one, else {content}.
func result(answer *mcp.CallToolResult) (json.RawMessage, error) {
	var value any = map[string]any{"content": answer.Content}
	if answer.StructuredContent != nil {
		value = answer.StructuredContent
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	return text, nil
}

// said is the text of an answer.
func said(answer *mcp.CallToolResult) string {
	for _, part := range answer.Content {
		if text, is := part.(*mcp.TextContent); is {
			return text.Text
		}
	}
	return "without a word"
}
