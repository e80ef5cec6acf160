package node

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/builtin"
	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/diskspace"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/cmd/pawl/internal/tools"
	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/ops"
	"github.com/pawl-run/pawl/ops/auth"
	"github.com/pawl-run/pawl/ops/backup"
	"github.com/pawl-run/pawl/ops/subscription"
	"github.com/pawl-run/pawl/projections/readmodel"
	"github.com/pawl-run/pawl/sandbox/worker"
)

// Node is an engine on an opened data directory, and the interface to it. Closing Data closes it.
type Node struct {
	Data     *storage.Data
	Scripts  *worker.Pool
	Tools    *tools.Tools // nil without a NATS listener
	Engine   *engine.Engine
	API      *ops.Server
	Endpoint *Endpoint
	Hooks    *Endpoint // that of hooks alone; nil for none
	Token    string    // asked of callers over HTTP; empty where none is asked for
	// Announce prints once the address at which the interface answers: when all is deployed, or before a long wait.
	Announce func()
	// Refused counts the files that were not deployed and await a correction; nil where none can be.
	Refused func() int

	registry *connector.Registry
	clock    clock.Clock
	space    *diskspace.Watch
	check    logCheck
	feed     feeding
	outgoing *subscription.Deliveries // nil where no webhooks are configured
	alerts   alerting
	traces   tracing
	links    auth.LinkBucket // nil where this engine has the log for itself
}

// maxLinger is how long a last look waits for another event at most, on a busy engine.
const maxLinger = 300 * time.Millisecond

// openCallees opens the parts that the engine calls: the built-in connectors, the processes of scripts, and tools.
func (n *Node) openCallees(ctx context.Context) (err error) {
	d := n.Data
	connectors := d.Settings.Connectors
	if connectors.HTTP != nil {
		kept := *connectors.HTTP
		kept.RefreshTokens = datadir.RefreshTokens(d.Settings.Data)
		connectors.HTTP = &kept
	}
	places := max(1, d.Processors-1) // one processor is left to the rest of the engine
	n.registry, err = builtin.Open(connectors, places, d.With.MailParser, d.Logger, d.Opened.Add)
	if err != nil {
		return d.Settings.Origin.Connectors(err)
	}
	if n.Scripts, err = storage.NewWorkers(d.Settings, d.With, d.Processors+1, d.Logger); err != nil {
		return err
	}
	d.Opened.Add(n.Scripts.Close)
	n.space = diskspace.New(d.Settings.Data, d.With.Free, d.Logger)
	if d.Broker.ClientURL() == "" {
		return nil
	}
	n.Tools, err = tools.Watch(ctx, d.Broker.Server, n.registry, d.Broker.Listener.Dir(), d.Logger)
	if err != nil {
		return err
	}
	// The tools are closed after the engine and before the broker: open calls have had their time by then.
	d.Opened.Add(n.Tools.Close)
	return nil
}

// reader answers lists and views of this engine's local store.
func (n *Node) reader() *readmodel.Reader {
	return &readmodel.Reader{Store: n.Data.Store, Flush: n.Engine.Flush}
}

// answer makes the interface, which answers operators over NATS from here on, and takes the address of hooks.
func (n *Node) answer(ctx context.Context, c ops.Config) (err error) {
	d := n.Data
	if c.TLS, err = d.Settings.TLS(); err != nil {
		return err
	}
	if n.Tools != nil {
		c.Refused, c.Tools = n.Tools.Refused, n.Tools.Users
	}
	c.Token, c.Address = n.Token, func() string { return n.Endpoint.URL() } // asked over the endpoint only
	if n.API, err = ops.New(c); err != nil {
		return exit.Failed("", err)
	}
	d.Opened.Add(func() error { n.API.Close(); return nil })
	if d.Broker.Server != nil {
		if err := answerOperators(d.Broker.Server, n.API, d.Logger, &d.Opened); err != nil {
			return err
		}
	}
	n.Hooks, err = listenForHooks(ctx, d.Settings, c.TLS != nil, &d.Opened)
	return err
}

// listen takes the address for HTTP. The token is there before commands find the address.
func (n *Node) listen(ctx context.Context) (*Endpoint, error) {
	s := n.Data.Settings
	certificate, err := s.TLS()
	if err != nil {
		return nil, err
	}
	if n.Token, err = datadir.Token(s.Data, n.Data.Logger); err != nil {
		return nil, err
	}
	return listen(ctx, s, certificate != nil, &n.Data.Opened)
}

// source says whose log a backup of this engine is.
func (n *Node) source() backup.Source {
	s := n.Data.Source()
	s.Engines = append(s.Engines, n.Endpoint.URL())
	if public := n.Data.Settings.PublicURL; public != "" {
		s.Engines = append(s.Engines, public)
	}
	return s
}
