package mcpcall

import (
	"context"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/eventlog"
)

// methodCall is the request that calls a tool.
const methodCall = "tools/call"

// flight is one mutation on its way, in the context of its call.
type flight struct {
	gate func() *eventlog.Failure
	// wrote is set before the first byte leaves.
	wrote atomic.Bool
	// status is that of a server at a URL which has not looked at the request; 0 where it may have.
	status atomic.Int32
	// refused is why the gate let nothing out.
	refused atomic.Pointer[eventlog.Failure]
	// giveUp ends the call that is not written: an error of Write would end the connection, and with it other calls.
	giveUp context.CancelFunc
}

type flightKey struct{}

// marked is a transport on which requests that call tools for a mutation can be told from all others: an HTTP client
// gates those by itself, at the first byte.
type marked struct{ mcp.Transport }

type leavingKey struct{}

// Connect implements mcp.Transport.
func (m marked) Connect(ctx context.Context) (mcp.Connection, error) {
	connection, err := m.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return markedConnection{connection}, nil
}

type markedConnection struct{ mcp.Connection }

// Write is the one line from which calls of tools leave to a URL.
func (m markedConnection) Write(ctx context.Context, message jsonrpc.Message) error {
	f, flies := ctx.Value(flightKey{}).(*flight)
	if request, is := message.(*jsonrpc.Request); is && request.Method == methodCall && flies {
		ctx = context.WithValue(ctx, leavingKey{}, f)
	}
	return m.Connection.Write(ctx, message)
}

// gated is a transport on which each mutation is written once, and only if its gate lets it out.
type gated struct{ mcp.Transport }

// Connect implements mcp.Transport.
func (g gated) Connect(ctx context.Context) (mcp.Connection, error) {
	connection, err := g.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return gatedConnection{connection}, nil
}

type gatedConnection struct{ mcp.Connection }

// Write is the one line from which calls of tools leave.
func (g gatedConnection) Write(ctx context.Context, message jsonrpc.Message) error {
	request, is := message.(*jsonrpc.Request)
	f, flies := ctx.Value(flightKey{}).(*flight)
	if !is || request.Method != methodCall || !flies {
		return g.Connection.Write(ctx, message)
	}
	if failure := f.gate(); failure != nil {
		f.refused.Store(failure)
		f.giveUp()
		return nil
	}
	if !f.wrote.CompareAndSwap(false, true) {
		f.giveUp() // one call is one request
		return nil
	}
	return g.Connection.Write(ctx, message)
}
