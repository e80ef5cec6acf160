package mcpserver

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/ops/rpc"
)

// New returns the tools and resources for the caller of the engine. Where the engine does not answer yet, all tools are
// offered, and those that the role does not cover are taken away once it does. The error is that of a table that
// contradicts the operations, or of an engine that refuses the caller.
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
