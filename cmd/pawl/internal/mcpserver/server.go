package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/ops/rpc"
)

// Engine is the engine that the tools work on, for one caller.
type Engine struct {
	// Connect returns a client of the engine with the caller's token. It is asked again for each call, so that an engine
	// that starts later, or at another address, is found.
	Connect func(context.Context) (Client, error)
	// Test runs tests of a script, without the engine. With TestAlone tests run also while no engine answers; else the
	// engine must first accept the caller.
	Test      func(context.Context, TestRequest) (json.RawMessage, error)
	TestAlone bool
	// Version of this program.
	Version string
}

// TestRequest is a script with its tests.
type TestRequest struct {
	Source string `json:"source"`
	Tests  string `json:"tests"`
	// YAML says that the tests are in the YAML form.
	YAML bool `json:"yaml,omitempty"`
}

// testTool is the one tool that is no operation of the engine: tests run where this program runs.
const testTool = "test"

// caller is what the engine says about its caller.
type caller struct {
	Name     string
	Role     rpc.Role
	Workflow *string
}

// server offers the tools to one caller.
type server struct {
	engine Engine
	offers *mcp.Server
	// offered are the tools, except that of tests, until the role is known.
	offered []*tool

	mu sync.Mutex
	// role is the caller's, empty until the engine has said it; all tools are offered until then.
	role rpc.Role
}

// connect returns the client, and asks for the caller's role where that is not known yet.
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
		who.Role = rpc.Ingest // only this role may not ask for its own role
	case err != nil:
		return nil, err
	}
	s.role = who.Role
	var beyond []string
	for _, t := range s.offered {
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
