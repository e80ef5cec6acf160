package storage

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/diskspace"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/projections/store"
)

// Data is an opened data directory: the broker, the log that the broker keeps, and the local store.
type Data struct {
	Settings config.Settings
	Broker   *Broker
	Log      *jslog.Log

	With   Parts
	Logger *slog.Logger
	// Processors is how many processors this process may use: as many as the machine has, or as GOMAXPROCS allows.
	Processors int

	stopped bool // no engine is to run on it: a command looks at it, or repairs it
	accepts bool // a loss is being accepted
	// restoring is set while a backup is being restored into the directory.
	restoring *jslog.Restoring

	Scripts scriptLog
	Store   *store.Store
	// Opened closes everything that was opened on the directory, also what a Node opens on it later.
	Opened Closers
	// ended is why it was closed; nil before that, or where nothing went wrong.
	ended error
}

// countProcessors counts the processors that this process may use. Once, it also lets Go run code on one thread more:
// the embedded broker spends much of its time in system calls that sync and remove files, and Go notices late that such
// a call leaves a processor idle. A GOMAXPROCS that is set stays as it is.
var countProcessors = sync.OnceValue(func() int {
	number := runtime.GOMAXPROCS(0)
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(number + 1)
	}
	return number
})

// looks reports whether only the broker may change anything in the directory.
func (d *Data) looks() bool { return d.stopped && !d.accepts && d.restoring == nil }

// openBroker opens the broker, and with it locks the directory against other processes.
func (d *Data) openBroker(ctx context.Context) (err error) {
	d.Processors = countProcessors()
	d.Broker, err = openBroker(ctx, d.Settings, d.With, d.Logger, trust(d.Settings.Data, d.accepts), &d.Opened)
	return err
}

// openLog opens the log, which must be whole, and the local store.
func (d *Data) openLog(ctx context.Context) (err error) {
	data := d.Settings.Data
	if d.Broker.Shared {
		if err := d.awaitFormed(ctx); err != nil {
			return err
		}
	}
	d.Log, err = jslog.Open(ctx, d.Broker.NC, d.logConfig())
	if err != nil {
		return ExplainLog(data, diskspace.Unwritten(err, data, d.With.Free))
	}
	d.Opened.Add(d.Log.Close)
	if !d.stopped { // scripts run only in an engine
		if d.Scripts, err = openScriptLog(ctx, d.Broker, data, d.With, d.Logger); err != nil {
			return exit.Failed("", err)
		}
	}
	c := store.Config{Dir: filepath.Join(data, "store"), Logger: d.Logger, LookOnly: d.looks()}
	if d.With.Store != nil {
		c = d.With.Store(c)
	}
	d.Store, err = store.Open(c)
	if err != nil {
		return exit.Failed("nothing is lost: the store can be deleted and is rebuilt from the log", err)
	}
	d.Opened.Add(d.closeStore)
	for _, warning := range d.Store.Warnings() {
		d.Logger.Warn(warning)
	}
	return nil
}

// logConfig configures the log. Where not every write is synced, the mark says only that the log exists: otherwise the
// messages that the broker loses when the power fails would look like damage.
func (d *Data) logConfig() jslog.Config {
	synced := d.Settings.SyncInterval == 0
	c := jslog.Config{
		Mark:         filepath.Join(d.Settings.Data, datadir.MarkFile),
		EmbeddedSync: synced && !d.stopped, Unsynced: !synced, KeepMark: d.stopped && d.restoring == nil,
		HoldFormat: d.Broker.Shared, LookOnly: d.looks(), Restoring: d.restoring, Replicas: d.Broker.Replicas,
		Healthy: d.Broker.Healthy, BeforeUpdate: d.Broker.KeepMetadata, Logger: d.Logger,
	}
	server := d.Broker.Server
	if server == nil {
		return c
	}
	if !d.Broker.Shared { // the server does not stage batches of streams with several replicas in files
		c.Stage = server.StageInMemory
	}
	c.Unserved = func(stream string) (error, bool) {
		if why, ok := server.Unserved(stream); ok {
			return errors.New(why.Reason), why.Usable
		}
		return nil, false
	}
	return c
}

// closeStore closes the store. Where a full disk was the reason to end, it does not report again that the store
// cannot be written.
func (d *Data) closeStore() error {
	err := d.Store.Close()
	if errors.Is(err, store.ErrFailed) && (diskspace.IsFull(d.ended) || errors.Is(d.ended, store.ErrFailed)) {
		return nil
	}
	return err
}

// Ends is the last position of each partition of the log.
func (d *Data) Ends(ctx context.Context) ([]uint64, error) {
	ends := make([]uint64, d.Log.Partitions())
	for p := range ends {
		var err error
		if ends[p], err = d.Log.Last(ctx, p); err != nil {
			return nil, err
		}
	}
	return ends, nil
}

// Close closes everything that was opened, in reverse, and frees the data directory. It returns what went wrong.
func (d *Data) Close() error { return d.Opened.close() }

// End closes everything. It returns err, the reason of the end (which may be nil), joined with what went wrong during
// the closing. For a full disk and a failed store the error says what can be done.
func (d *Data) End(err error) error {
	d.ended = err
	err = errors.Join(err, d.Close())
	if diskspace.IsFull(err) || errors.Is(err, store.ErrFailed) {
		return ExplainLog(d.Settings.Data, err)
	}
	return err
}
