package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/diskspace"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/engine/runlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/projections/store"
)

// Open opens what lies in the data directory: broker, log and store. Only one process can.
func Open(ctx context.Context, s config.Settings, with Parts, logger *slog.Logger) (*Node, error) {
	in := &Node{Settings: s, with: with, logger: logger}
	if err := in.open(ctx); err != nil {
		return nil, in.end(err)
	}
	return in, nil
}

func (in *Node) open(ctx context.Context) (err error) {
	if err := in.openBroker(ctx); err != nil {
		return err
	}
	if err := in.openLog(ctx); err != nil {
		return err
	}
	if _, err := os.Stat(in.lossFile()); err == nil {
		return exit.Failed("finish it: pawl verify --accept-loss", errors.New("accepting a loss was interrupted: it is not written down yet which workflows must be held"))
	}
	if in.stopped {
		return nil
	}
	return in.giveWay(ctx)
}

// openBroker starts the broker and connects to it.
func (in *Node) openBroker(ctx context.Context) (err error) {
	spareProcessor()
	data := in.Settings.Data
	if err := os.MkdirAll(data, 0o700); err != nil {
		return exit.Failed("choose another with --data DIR", fmt.Errorf("create data directory: %w", err))
	}
	in.limit = diskspace.StoreLimit(data, in.with.free)
	// The server's lock on the directory is the lock on the whole data directory.
	broker := embeddednats.Config{
		StoreDir: data, SyncInterval: in.Settings.SyncInterval, JetStreamMaxStore: in.limit, Logger: in.logger,
		Trust: in.trust,
	}
	if err := in.openToNATS(&broker); err != nil {
		return err
	}
	in.Server, err = embeddednats.Start(ctx, broker)
	if err != nil {
		return exit.Failed("stop whatever uses it, or give this pawl a directory of its own: --data DIR", err)
	}
	in.onClose(func() error { in.Server.Shutdown(); return nil })
	if err := in.writeNATSURLs(); err != nil {
		return err
	}
	in.NC, err = in.Server.Connect(nats.Name("pawl"))
	if err != nil {
		return exit.Failed("", err)
	}
	in.onClose(func() error { in.NC.Close(); return nil })
	return nil
}

// openLog opens the log, which must be whole, and the local store.
func (in *Node) openLog(ctx context.Context) (err error) {
	data := in.Settings.Data
	in.Log, err = jslog.Open(ctx, in.NC, in.logConfig())
	if err != nil {
		return explainLog(data, diskspace.Unwritten(err, data, in.with.free))
	}
	in.onClose(in.Log.Close)
	if err := in.openRunLog(ctx); err != nil {
		return exit.Failed("", err)
	}
	kept := store.Config{Dir: filepath.Join(data, "store"), Logger: in.logger}
	if in.with.Store != nil {
		kept = in.with.Store(kept)
	}
	in.store, err = store.Open(kept)
	if err != nil {
		return exit.Failed("nothing is lost: the store can be deleted and is rebuilt from the log", err)
	}
	in.onClose(in.closeStore)
	for _, warning := range in.store.Warnings() {
		in.logger.Warn(warning)
	}
	return nil
}

// closeStore closes the store. What ended because the disk takes no more is not told again that the
// store cannot be written either.
func (in *Node) closeStore() error {
	err := in.store.Close()
	if errors.Is(err, store.ErrFailed) && (diskspace.IsFull(in.ended) || errors.Is(in.ended, store.ErrFailed)) {
		return nil
	}
	return err
}

// openRunLog opens what keeps the lines that scripts write. They are no facts: a disk too full for
// them does not keep an engine from finishing what is under way.
func (in *Node) openRunLog(ctx context.Context) error {
	runs, err := runlog.Open(ctx, in.NC, runlog.Config{MaxBytes: diskspace.RunLogLimit(in.limit)})
	if err = diskspace.Unwritten(err, in.Settings.Data, in.with.free); diskspace.IsFull(err) {
		in.logger.Warn("what scripts log is not kept before the next start: there is too little free space", "data", in.Settings.Data)
		return nil
	}
	if err != nil {
		return err
	}
	in.runs, in.kept = runs, runs
	return nil
}

// logConfig configures the log. Where not every write is synced the mark says only that the log
// exists: otherwise what the broker loses with the power would look like damage.
func (in *Node) logConfig() jslog.Config {
	synced := in.Settings.SyncInterval == 0
	return jslog.Config{
		Mark: filepath.Join(in.Settings.Data, datadir.MarkFile), EmbeddedSync: synced && !in.stopped, Unsynced: !synced, KeepMark: in.stopped,
		Healthy: in.Server.Healthy, Stage: in.Server.StageInMemory, Logger: in.logger,
		BeforeUpdate: in.Server.KeepMetadata,
		Unserved: func(stream string) (error, bool) {
			if why, ok := in.Server.Unserved(stream); ok {
				return errors.New(why.Reason), why.Usable
			}
			return nil, false
		},
	}
}
