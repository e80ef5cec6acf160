package storage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/diskspace"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/engine/runlog"
	"github.com/pawl-run/pawl/ops/feed"
)

// Broker is the embedded NATS server of a data directory, and the engine's own connection to it.
type Broker struct {
	Server   *embeddednats.Server
	NC       *nats.Conn
	Listener natsListener
	// Limit is what the broker may store in all, in bytes; 0 leaves it to the broker.
	Limit int64
}

// openBroker starts the broker, which locks the data directory, and connects to it. trust says
// whether the broker may take a stream whose metadata may not be what it was.
func openBroker(
	ctx context.Context, s config.Settings, with Parts, logger *slog.Logger,
	trust func(stream, takes string) (bool, error), opened *Closers,
) (*Broker, error) {
	spareProcessor()
	if err := os.MkdirAll(s.Data, 0o700); err != nil {
		return nil, exit.Failed("choose another with --data DIR", fmt.Errorf("create data directory: %w", err))
	}
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
	server, err := embeddednats.Start(ctx, c)
	switch {
	case errors.Is(err, embeddednats.ErrInUse):
		return nil, exit.Failed("an engine that runs on it takes workflows with pawl deploy FILE; else stop what uses it, "+
			"or give this pawl a directory of its own: --data DIR", err)
	case err != nil:
		return nil, exit.Failed("stop whatever uses it, or give this pawl a directory of its own: --data DIR", err)
	}
	opened.Add(func() error { server.Shutdown(); return nil })
	if err := b.Listener.writeDown(server, opened); err != nil {
		return nil, err
	}
	nc, err := server.Connect(nats.Name("pawl"))
	if err != nil {
		return nil, exit.Failed("", err)
	}
	opened.Add(func() error { nc.Close(); return nil })
	b.Server, b.NC = server, nc
	return b, nil
}
