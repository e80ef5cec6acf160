package mcpserver

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/ops/rpc"
)

// New returns the tools and resources for the caller of the engine. Where the engine does not answer yet, all tools are
// offered, and those that the role does not cover are removed once it answers. It fails when the table contradicts the
// operations, or when the engine refuses the caller.
func New(ctx context.Context, engine Engine) (*mcp.Server, error) {
	s := &server{engine: engine, offered: tools, offers: mcp.NewServer(
		&mcp.Implementation{Name: "pawl", Title: "Pawl", Version: engine.Version},
		&mcp.ServerOptions{Instructions: instructions, Capabilities: &mcp.ServerCapabilities{}})}
	for _, t := range tools {
		described, err := t.describe()
		if err != nil {
			return nil, err
		}
		s.offers.AddTool(described, s.handler(t))
	}
	s.addTest()
	s.addResources()
	_, err := s.connect(ctx)
	var refused *rpc.Problem
	if errors.As(err, &refused) && refused.Status < 500 {
		return nil, err
	}
	return s.offers, nil
}

// shortened leaves a field out of an answer and of its items: a model reads each character.
func (t *tool) shortened(answer json.RawMessage) json.RawMessage {
	var whole map[string]json.RawMessage
	if t.without == "" || json.Unmarshal(answer, &whole) != nil {
		return answer
	}
	delete(whole, t.without)
	var items []map[string]json.RawMessage
	if json.Unmarshal(whole["items"], &items) == nil {
		for _, item := range items {
			delete(item, t.without)
		}
		if shorter, err := json.Marshal(items); err == nil {
			whole["items"] = shorter
		}
	}
	if shorter, err := json.Marshal(whole); err == nil {
		return shorter
	}
	return answer
}

// handler carries the tool out for a call. Whatever goes wrong is an answer that the model sees.
func (s *server) handler(t *tool) mcp.ToolHandler {
	return func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		arguments := map[string]any{}
		if given := request.Params.Arguments; len(given) > 0 {
			if err := json.Unmarshal(given, &arguments); err != nil {
				return misused("the arguments are no JSON object: "+err.Error(), "call "+t.name+" with one object"), nil
			}
		}
		operation, wrong := t.choose(arguments)
		if wrong != nil {
			return wrong, nil
		}
		client, err := s.connect(ctx)
		if err != nil {
			return failed(t.name, err), nil
		}
		if t.prepare != nil {
			if err := t.prepare(ctx, client, arguments); err != nil {
				return failed(t.name, err), nil
			}
		}
		for name, value := range t.fixed {
			if value != nil {
				arguments[name] = value
			}
		}
		var answer json.RawMessage
		if err := client.Do(ctx, operation, arguments, &answer); err != nil {
			return failed(t.name, err), nil
		}
		return t.answered(arguments, t.shortened(answer)), nil
	}
}
