package storage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/engine/lease"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/eventlog/jslog/bucket"
)

// LeasesBucket is the bucket of the leases.
const LeasesBucket = "PAWL_LEASES"

// SharedPartitions is how many partitions a shared log gets by default.
const SharedPartitions = 16

// Layout is how a shared log is kept.
type Layout struct {
	Partitions   int    `json:"partitions"`
	Replicas     int    `json:"replicas"`
	Installation string `json:"installation"`
}

// Form makes the streams of a shared log, and the bucket of its leases. Where they exist it makes nothing, and returns
// their layout. It may be repeated after it failed. The bucket comes last: engines wait for it.
func Form(ctx context.Context, nc *nats.Conn, logger *slog.Logger, want Layout) (Layout, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return want, exit.Failed("", err)
	}
	log, err := jslog.Open(ctx, nc, jslog.Config{Partitions: want.Partitions, Replicas: want.Replicas, HoldFormat: true,
		Logger: logger})
	if err != nil {
		return want, exit.Failed("the servers must be able to place as many replicas; nothing is lost: repeat the command",
			err)
	}
	made := Layout{Partitions: log.Partitions(), Installation: string(log.Installation())}
	if err := log.Close(); err != nil {
		return made, exit.Failed("", err)
	}
	err = addLeases(ctx, js, &made)
	return made, err
}

// addLeases makes the bucket of the leases, on as many servers as the log, and sets that number in made.
func addLeases(ctx context.Context, js jetstream.JetStream, made *Layout) error {
	first, err := js.Stream(ctx, jslog.StreamName("", 0))
	if err != nil {
		return exit.Failed("repeat the command", fmt.Errorf("look up the log: %w", err))
	}
	made.Replicas = first.CachedInfo().Config.Replicas
	if _, err := bucket.Create(ctx, js, LeasesBucket, made.Replicas); err != nil {
		return exit.Failed("repeat the command", err)
	}
	return nil
}

// Servers connects to the servers of a shared log for a command that runs no engine, and looks at them. The connection
// is the caller's.
func Servers(ctx context.Context, s config.Servers, logger *slog.Logger) (*nats.Conn, error) {
	nc, err := Dial(s, s.Creds, logger, nats.Name("pawl cluster"))
	if err != nil {
		return nil, err
	}
	if err := lookAtServers(ctx, nc, s, logger); err != nil {
		nc.Close()
		return nil, err
	}
	return nc, nil
}

// awaitFormed waits until the shared log and the bucket of its leases exist, and notes how many replicas they have. A
// node that has read the log before does not wait: then the log is gone, and is not made again.
func (d *Data) awaitFormed(ctx context.Context) error {
	js, err := jetstream.New(d.Broker.NC)
	if err != nil {
		return exit.Failed("", err)
	}
	_, statErr := os.Stat(filepath.Join(d.Settings.Data, datadir.MarkFile))
	told := false
	for {
		stream, err := js.Stream(ctx, jslog.StreamName("", 0))
		if err == nil {
			d.Broker.Replicas = stream.CachedInfo().Config.Replicas
			_, err = js.Stream(ctx, bucket.StreamName(LeasesBucket))
		}
		switch {
		case err == nil:
			return nil
		case statErr == nil && errors.Is(err, jetstream.ErrStreamNotFound):
			return ExplainLog(d.Settings.Data, fmt.Errorf("%w: this node has read the log of the servers, and it is not there",
				eventlog.ErrGone))
		case !told:
			told = true
			if errors.Is(err, jetstream.ErrStreamNotFound) {
				d.Logger.Warn("there is no log on the NATS servers yet; this node waits for it",
					"hint", "make it once, from any machine: pawl cluster init")
			} else {
				d.Logger.Warn("the NATS servers do not answer; this node waits for them", "error", err)
			}
		}
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
			return exit.Failed("", fmt.Errorf("wait for the log on the NATS servers: %w", context.Cause(ctx)))
		}
	}
}

// Leases opens the leases, by which the engines share the partitions of the log, and the bucket that keeps them. Both
// are nil where this engine has the log for itself. url is the address at which this engine answers, and version that
// of its program.
func (d *Data) Leases(ctx context.Context, url, version string) (*lease.Keeper, *bucket.Bucket, error) {
	if !d.Broker.Shared {
		return nil, nil, nil
	}
	nc, err := d.Broker.Connect(nats.Name("pawl leases"))
	if err != nil {
		return nil, nil, err
	}
	d.Opened.Add(func() error { nc.Close(); return nil })
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, nil, exit.Failed("", err)
	}
	entries, err := bucket.Open(ctx, js, LeasesBucket)
	if err != nil {
		return nil, nil, exit.Failed("", err)
	}
	keeper, err := lease.New(lease.Config{Bucket: entries, Partitions: d.Log.Partitions(), Node: d.Broker.Node, URL: url,
		Version: version, Format: eventlog.FormatVersion, Logger: d.Logger})
	if err != nil {
		return nil, nil, exit.Failed("", err)
	}
	return keeper, entries, nil
}
