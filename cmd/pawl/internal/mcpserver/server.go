package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/ops/rpc"
)

// Engine is what the tools work on, for one caller.
type Engine struct {
	// Connect returns a client of the engine with the caller's token. It is asked again for each call, so that an engine
	// that starts later, or at another address, is found.
	Connect func(context.Context) (Client, error)
	// Test runs tests of a script, without the engine. With TestAlone it does also while no engine answers; else the
	// engine first says that it knows the caller.
	Test      func(context.Context, TestRequest) (json.RawMessage, error)
	TestAlone bool
	// Version of this program.
	Version string
}

// Client carries out operations; *rpc.Client is one. Errors are those of rpc.Client.Do.
type Client interface {
	Do(ctx context.Context, operation string, params, out any) error
}

// caller is what the engine says of its caller.
type caller struct {
	Name     string
	Role     rpc.Role
	Workflow *string
}

// server offers the tools to one caller.
type server struct {
	engine Engine
	offers *mcp.Server

	mu sync.Mutex
	// role is the caller's, empty until the engine has said it; all tools are offered until then.
	role rpc.Role
}

// New returns the tools and resources for the caller of the engine. Where the engine does not answer yet, all tools are
// offered, and those that the role does not cover are taken away once it does. The error is that of a table that
// contradicts the operations, or of an engine that refuses the caller.
func New(ctx context.Context, engine Engine) (*mcp.Server, error) {
	s := &server{engine: engine, offers: mcp.NewServer(
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

// connect returns the client, and first learns the caller's role where that is not known.
func (s *server) connect(ctx context.Context) (Client, error) {
	client, err := s.engine.Connect(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.role != "" {
		return client, nil
	}
	var who caller
	err = client.Do(ctx, "getCaller", nil, &who)
	var p *rpc.Problem
	switch {
	case errors.As(err, &p) && p.Code == "role.insufficient":
		who.Role = rpc.Ingest // the only role that may not even ask who it is
	case err != nil:
		return nil, err
	}
	s.role = who.Role
	var beyond []string
	for _, t := range tools {
		if !t.covered(s.role) {
			beyond = append(beyond, t.name)
		}
	}
	if !s.role.Covers(rpc.Viewer) {
		beyond = append(beyond, testTool)
	}
	s.offers.RemoveTools(beyond...)
	return client, nil
}
