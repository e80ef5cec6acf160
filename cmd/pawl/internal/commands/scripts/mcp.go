package scripts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/mcpserver"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/cmd/pawl/internal/version"
	"github.com/pawl-run/pawl/engine/loopback"
	"github.com/pawl-run/pawl/ops"
	"github.com/pawl-run/pawl/ops/rpc"
)

// MCPCommand is `pawl mcp`: offer the engine to a language model over the Model Context Protocol.
type MCPCommand struct {
	client.Flags
	Listen string `placeholder:"ADDR" help:"Serve streamable HTTP on this loopback address instead of standard input and output; each request brings its own token."`
}

// Run serves until the client has ended, or until it is interrupted.
func (c *MCPCommand) Run(ctx context.Context, engine *client.Finder, screen term.Screen, conf config.Reader,
	with storage.Parts) error {
	if c.JSON {
		return exit.Misconfigured("leave --json out", "pawl mcp speaks a protocol of its own")
	}
	tests := &rehearsals{conf: conf, with: with}
	err := c.serve(ctx, engine, screen, tests)
	return errors.Join(err, tests.close())
}

func (c *MCPCommand) serve(ctx context.Context, engine *client.Finder, screen term.Screen, tests *rehearsals) error {
	if c.Listen != "" {
		return c.serveHTTP(ctx, engine, screen, tests)
	}
	last := &lastEngine{engine: engine, flags: c.Flags}
	server, err := mcpserver.New(ctx, mcpserver.Engine{Version: version.String(), Connect: last.connect,
		Test: tests.run, TestAlone: true})
	if err != nil {
		return exit.Failed("", err)
	}
	fmt.Fprintln(screen.Err, "pawl: offering tools to a model on standard input and output; a client of MCP starts this, "+
		"a person does not")
	out := &wholeLines{out: screen.Out}
	err = server.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(newMessages(screen.In, out)), Writer: out})
	if err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) {
		return exit.Failed("", fmt.Errorf("serve MCP: %w", err))
	}
	return nil
}

// lastEngine is the engine that answered last. When it does not answer any more, an engine is looked for again, so that
// one that starts later, or at another address, is found.
type lastEngine struct {
	engine *client.Finder
	flags  client.Flags

	mu  sync.Mutex
	now *client.Connection
}

func (f *lastEngine) connect(context.Context) (mcpserver.Client, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now != nil {
		return f, nil
	}
	connected, err := f.engine.Connect(f.flags)
	if err != nil {
		return nil, err
	}
	f.now = connected
	return f, nil
}

// Do implements mcpserver.Client.
func (f *lastEngine) Do(ctx context.Context, operation string, params, out any) error {
	f.mu.Lock()
	now := f.now
	f.mu.Unlock()
	err := now.Do(ctx, operation, params, out)
	var p *rpc.Problem
	if errors.Is(err, rpc.ErrUnreachable) || errors.As(err, &p) && p.Status == http.StatusUnauthorized {
		f.mu.Lock()
		if f.now == now && now.NATS == nil { // a connection to NATS finds its server by itself
			f.now = nil
		}
		f.mu.Unlock()
	}
	return err
}

// serveHTTP serves any number of callers, each with its own token.
func (c *MCPCommand) serveHTTP(ctx context.Context, engine *client.Finder, screen term.Screen,
	tests *rehearsals) error {
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil || !loopback.Called(host) {
		return exit.Misconfigured("write e.g. --listen 127.0.0.1:7171; from another machine, run pawl mcp there with --url",
			"pawl mcp listens on loopback only, not on %q", term.OneLine(c.Listen, 100))
	}
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	if connected.NATS != nil {
		return exit.Misconfigured("reach the engine with --url", "--listen passes the callers' tokens on over HTTP only")
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return exit.Failed("choose another address with --listen", fmt.Errorf("serve MCP: %w", err))
	}
	server := &http.Server{ReadHeaderTimeout: mcpserver.ReadHeaderTimeout,
		Handler: mcpserver.HTTP(func(token string) func(context.Context) (mcpserver.Client, error) {
			caller := &rpc.Client{Operations: ops.Table(), URL: connected.URL, Token: token, Actor: connected.Actor}
			return func(context.Context) (mcpserver.Client, error) { return caller, nil }
		}, tests.run, version.String())}
	fmt.Fprintf(screen.Err, "pawl: offering tools to models on http://%s\n", listener.Addr())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err = <-ended:
		return exit.Failed("", fmt.Errorf("serve MCP: %w", err))
	case <-ctx.Done():
		_ = server.Close() // its callers notice that their connections end
		<-ended
		return nil
	}
}
