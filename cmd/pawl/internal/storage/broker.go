package storage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/diskspace"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/engine/runlog"
	"github.com/pawl-run/pawl/ops/feed"
)

// Broker is the NATS server that keeps the log, and the engine's own connection to it. The server runs inside of this
// process, or servers elsewhere keep the log. Each kind is made by one function that openBroker chooses (embedBroker,
// joinServers), and differs from the other in the fields that it sets.
type Broker struct {
	// Server is the server inside of this process; nil where there is none.
	Server   *embeddednats.Server
	NC       *nats.Conn
	Listener natsListener
	// Limit is what the broker may store in all, in bytes; 0 leaves it to the broker.
	Limit int64
	// Shared says that several engines share the log, so that each needs leases (Data.Leases). Its streams are made by
	// Form alone, and engines wait for them. Node is the name of this engine among them.
	Shared bool
	Node   string
	// Replicas of the streams that are made beside the log; 0 means 1.
	Replicas int

	dial func(options ...nats.Option) (*nats.Conn, error)
}

// Connect opens a further connection of the engine.
func (b *Broker) Connect(options ...nats.Option) (*nats.Conn, error) { return b.dial(options...) }

// ClientURL is the address at which the server inside of this process listens; empty where it does not.
func (b *Broker) ClientURL() string {
	if b.Server == nil {
		return ""
	}
	return b.Server.ClientURL()
}

// Healthy says what is wrong with the server inside of this process that has the log for itself; nil for nothing. Where
// the log is shared it is always nil: what is wrong with other servers shows in their answers, and while a node has no
// leader or a full disk the other nodes go on.
func (b *Broker) Healthy() error {
	if b.Server == nil || b.Shared {
		return nil
	}
	return b.Server.Healthy()
}

// KeepMetadata keeps a copy of a stream's metadata before it is changed, where a kill of this process could spoil it.
func (b *Broker) KeepMetadata(stream string) error {
	if b.Server == nil {
		return nil
	}
	return b.Server.KeepMetadata(stream)
}

// openBroker starts the broker, or joins it, and connects to it. It locks the data directory. trust says whether a
// server inside of this process may use a stream whose metadata may not be the last that was written.
func openBroker(
	ctx context.Context, s config.Settings, with Parts, logger *slog.Logger,
	trust func(stream, takes string) (bool, error), opened *Closers,
) (*Broker, error) {
	if err := os.MkdirAll(s.Data, 0o700); err != nil {
		return nil, exit.Failed("choose another with --data DIR", fmt.Errorf("create data directory: %w", err))
	}
	if s.Servers.URL != "" {
		return joinServers(ctx, s, logger, opened)
	}
	return embedBroker(ctx, s, with, logger, trust, opened)
}

// embedBroker starts the server inside of this process.
func embedBroker(
	ctx context.Context, s config.Settings, with Parts, logger *slog.Logger,
	trust func(stream, takes string) (bool, error), opened *Closers,
) (*Broker, error) {
	limit, err := diskspace.StoreLimit(s.Data, with.Free)
	if err != nil {
		return nil, exit.Failed("make the data directory readable to this user", err)
	}
	b := &Broker{Limit: limit, Listener: natsListener{settings: s}}
	// The server's lock on the directory is the lock on the whole data directory.
	c := embeddednats.Config{
		StoreDir: s.Data, SyncInterval: s.SyncInterval, JetStreamMaxStore: b.Limit, Logger: logger,
		Trust: trust, Disposable: []string{runlog.StreamName(""), feed.StreamName("")},
	}
	if err := b.Listener.configure(&c); err != nil {
		return nil, err
	}
	if err := cluster(s, &c); err != nil {
		return nil, err
	}
	server, err := embeddednats.Start(ctx, c)
	if err != nil {
		return nil, refused(err)
	}
	opened.Add(func() error { server.Shutdown(); return nil })
	if err := b.Listener.writeDown(server, opened); err != nil {
		return nil, err
	}
	b.Server, b.dial = server, server.Connect
	if s.Cluster.On() {
		b.Shared, b.Node = true, s.Servers.Node
		if err := writeLocal(server, s.Data, opened); err != nil {
			return nil, err
		}
	}
	return b, b.connect(opened)
}

// refused explains why the data directory cannot be used.
func refused(err error) error {
	if explained, ok := clusterRefused(err); ok {
		return explained
	}
	if errors.Is(err, embeddednats.ErrInUse) {
		return exit.Failed("an engine that runs on it takes workflows with pawl deploy FILE; else stop what uses it, "+
			"or give this pawl a directory of its own: --data DIR", err)
	}
	return exit.Failed("stop whatever uses it, or give this pawl a directory of its own: --data DIR", err)
}

// connect opens the engine's own connection.
func (b *Broker) connect(opened *Closers) (err error) {
	if b.NC, err = b.dial(nats.Name("pawl")); err != nil {
		return exit.Failed("", err)
	}
	opened.Add(func() error { b.NC.Close(); return nil })
	return nil
}

// joinServers connects to NATS servers that run without this process. The data directory then holds no log. It is
// locked here, and refused where an engine has kept its log in it.
func joinServers(ctx context.Context, s config.Settings, logger *slog.Logger, opened *Closers) (*Broker, error) {
	if _, err := os.Stat(filepath.Join(s.Data, "jetstream")); err == nil {
		return nil, exit.Failed("give this engine a directory of its own: --data DIR; the log there is left as it is, and "+
			"pawl backup copies it",
			fmt.Errorf("%s holds the log of an engine that keeps it itself, and --nats keeps it elsewhere", term.Path(s.Data)))
	}
	unlock, err := embeddednats.Lock(s.Data)
	if err != nil {
		return nil, refused(err)
	}
	opened.Add(unlock)
	b := &Broker{Shared: true, Node: s.Servers.Node, dial: func(options ...nats.Option) (*nats.Conn, error) {
		return Dial(s.Servers, s.Servers.Creds, logger, options...)
	}}
	if err := b.connect(opened); err != nil {
		return nil, err
	}
	if err := lookAtServers(ctx, b.NC, s.Servers, logger); err != nil {
		return nil, err
	}
	return b, nil
}
