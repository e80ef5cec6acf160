package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/time/rate"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/runlog"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/ops"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
	"github.com/pawl-run/pawl/projections/store"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/worker"
)

// installation is a data directory with everything that works on it. What is nil was not opened.
type installation struct {
	settings settings
	with     parts
	logger   *slog.Logger
	stopped  bool // it is looked at, and no engine is to run on it

	limit    int64 // what the broker may store in all; 0 leaves it to the broker
	server   *embeddednats.Server
	natsTLS  bool // the NATS listener asks for TLS
	nc       *nats.Conn
	log      *jslog.Log
	runs     *runlog.Stream
	kept     ops.RunLog // runs, or nil
	store    *store.Store
	scripts  *worker.Pool
	registry *connector.Registry
	services *services
	room     *room
	engine   *engine.Engine
	api      *ops.Server
	listener net.Listener
	token    string // asked of callers over HTTP; empty where none is asked for
	// announce says, once, where the interface answers: when all is deployed, or before a long wait.
	announce func()

	// checked is closed when the check of the log beside the work has ended.
	checked chan struct{}
	// ended is what end was told.
	ended error
	// closers undo what was opened, the last first.
	closers []func() error
}

// markFile, in the data directory, says up to where the log was acknowledged.
const markFile = "log.mark"

// parts are what a test puts in the place of an engine's own. The zero value is the real ones.
type parts struct {
	// Observe is called with each transition, before the command is told of it.
	Observe func(eventlog.Record)
	// Connectors stands before the connectors that the engine calls.
	Connectors func(engine.Connectors) engine.Connectors
	// Worker and MailParser make the processes that run scripts and take mails apart; nil is this program again.
	Worker, MailParser func() *exec.Cmd
	// FreeSpace says what may still be written to a folder's disk.
	FreeSpace func(dir string) (schedule.Size, error)
	// Store completes the configuration of the local store.
	Store func(store.Config) store.Config
}

// free is the free space of the folder's disk.
func (p parts) free(dir string) (schedule.Size, error) {
	if p.FreeSpace != nil {
		return p.FreeSpace(dir)
	}
	return freeSpace(dir)
}

// observe tells of each transition: the test first, which may be its end.
func (p parts) observe(command func(eventlog.Record)) func(eventlog.Record) {
	if p.Observe == nil {
		return command
	}
	return func(r eventlog.Record) {
		p.Observe(r)
		if command != nil {
			command(r)
		}
	}
}

// openData opens what lies in the data directory: broker, log and store. Only one process can.
func openData(ctx context.Context, s settings, with parts, logger *slog.Logger) (*installation, error) {
	in := &installation{settings: s, with: with, logger: logger}
	if err := in.open(ctx); err != nil {
		return nil, in.end(err)
	}
	return in, nil
}

func (in *installation) open(ctx context.Context) (err error) {
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
func (in *installation) openBroker(ctx context.Context) (err error) {
	spareProcessor()
	data := in.settings.Data
	if err := os.MkdirAll(data, 0o700); err != nil {
		return exit.Failed("choose another with --data DIR", fmt.Errorf("create data directory: %w", err))
	}
	in.limit = storeLimit(data, in.with.free)
	// The server's lock on the directory is the lock on the whole data directory.
	broker := embeddednats.Config{
		StoreDir: data, SyncInterval: in.settings.SyncInterval, JetStreamMaxStore: in.limit, Logger: in.logger,
	}
	if err := in.openToNATS(&broker); err != nil {
		return err
	}
	in.server, err = embeddednats.Start(ctx, broker)
	if err != nil {
		return exit.Failed("stop whatever uses it, or give this pawl a directory of its own: --data DIR", err)
	}
	in.onClose(func() error { in.server.Shutdown(); return nil })
	if err := in.writeNATSURLs(); err != nil {
		return err
	}
	in.nc, err = in.server.Connect(nats.Name("pawl"))
	if err != nil {
		return exit.Failed("", err)
	}
	in.onClose(func() error { in.nc.Close(); return nil })
	return nil
}

// openLog opens the log, which must be whole, and the local store.
func (in *installation) openLog(ctx context.Context) (err error) {
	data := in.settings.Data
	in.log, err = jslog.Open(ctx, in.nc, in.logConfig())
	if err != nil {
		return explainLog(data, in.unwritten(err))
	}
	in.onClose(in.log.Close)
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
func (in *installation) closeStore() error {
	err := in.store.Close()
	if errors.Is(err, store.ErrFailed) && (isFull(in.ended) || errors.Is(in.ended, store.ErrFailed)) {
		return nil
	}
	return err
}

// openRunLog opens what keeps the lines that scripts write. They are no facts: a disk too full for
// them does not keep an engine from finishing what is under way.
func (in *installation) openRunLog(ctx context.Context) error {
	runs, err := runlog.Open(ctx, in.nc, runlog.Config{MaxBytes: runLogLimit(in.limit)})
	if err = in.unwritten(err); isFull(err) {
		in.logger.Warn("what scripts log is not kept before the next start: there is too little free space", "data", in.settings.Data)
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
func (in *installation) logConfig() jslog.Config {
	synced := in.settings.SyncInterval == 0
	return jslog.Config{
		Mark: filepath.Join(in.settings.Data, markFile), EmbeddedSync: synced && !in.stopped, Unsynced: !synced, KeepMark: in.stopped,
		Healthy: in.server.Healthy, Stage: in.server.StageInMemory, Logger: in.logger,
	}
}

// explainLog says what can be done about a log, or a store, that cannot be used.
func explainLog(data string, err error) error {
	hint := ""
	switch {
	case errors.Is(err, eventlog.ErrGone):
		hint = "nothing was changed; " + goneHint(data)
	case errors.Is(err, eventlog.ErrDamaged):
		hint = "nothing was changed; copy " + data + " aside, restore it from a backup, or look at what is left: pawl verify; to go on without what is missing: pawl verify --accept-loss"
	case errors.Is(err, eventlog.ErrNewerFormat):
		hint = "use the newer pawl that wrote it; an older one would misread it"
	case isFull(err):
		hint = "free space on the disk of " + data + " and start again; nothing that was acknowledged is lost"
	case errors.Is(err, store.ErrFailed):
		hint = "look at the disk of " + data + " and start again; nothing is lost: what the store lacks is replayed from the log"
	}
	return exit.Failed(hint, err)
}

// goneHint leads out of a log of which nothing is left.
func goneHint(data string) string {
	return "put " + filepath.Join(data, "jetstream") + " back from a copy or a backup and start again; there is nothing left of which a loss could be accepted: " +
		"to begin anew, without knowing what was done, give pawl another directory: --data DIR"
}

// compose makes an engine on an opened data directory, and the interface to it.
func (in *installation) compose(ctx context.Context, observe func(eventlog.Record), version string) error {
	var err error
	if in.registry, err = in.connectors(); err != nil {
		return in.settings.origin.connectors(err)
	}
	if in.scripts, err = newWorkers(in.settings, in.with, processors+1, in.logger); err != nil {
		return err
	}
	in.onClose(in.scripts.Close)
	in.room = newRoom(in.settings.Data, in.with.free, in.logger)
	if err := in.watchServices(ctx); err != nil {
		return err
	}
	known := newCatalog(in.registry)
	known.services = in.services
	var reached engine.Connectors = known
	if in.with.Connectors != nil {
		reached = in.with.Connectors(known)
	}
	clock, err := in.clock(ctx)
	if err != nil {
		return explainLog(in.settings.Data, err)
	}
	linger := mostLinger
	if in.settings.Clock.Manual {
		linger = 0 // who advances the clock waits for every run
	}
	in.engine, err = engine.New(engine.Config{
		Clock: clock, Linger: linger, Log: in.log, Store: in.store, Scripts: in.scripts, Connectors: reached,
		Policies: in.settings.Policies, Logger: in.logger, Observe: in.with.observe(observe), Room: in.room.check, RunLog: in.runLog,
	})
	if err != nil {
		return exit.Failed("", err)
	}
	certificate, err := in.settings.tls()
	if err != nil {
		return err
	}
	var refused func(context.Context) []ops.RefusedService
	var tools func() []ops.ToolUser
	if in.services != nil {
		refused, tools = in.services.refused, in.services.users
	}
	if in.token, err = localToken(in.settings.Data, in.logger); err != nil {
		return err
	}
	in.api, err = ops.New(ops.Config{
		Engine: in.engine, Reader: &readmodel.Reader{Store: in.store, Flush: in.engine.Flush}, Log: in.log, Connectors: known, Calls: in.registry, RunLog: in.kept,
		Workers: in.scripts.Report, Version: version, Installation: in.log.Installation(), Token: in.token, NoAuth: in.settings.NoAuth, PublicURL: in.settings.PublicURL, TLS: certificate, Logger: in.logger,
		Now: clock.Now, Refused: refused, Tools: tools,
	})
	if err != nil {
		return exit.Failed("", err)
	}
	in.onClose(func() error { in.api.Close(); return nil })
	// Not on the connection of the log: the caller chooses the subject of the answer.
	var told rate.Sometimes
	told.Interval = time.Minute
	answering, err := in.server.ConnectServices(nats.Name("pawl services"), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		told.Do(func() {
			in.logger.Warn("NATS refused an action of the service that answers operators: perhaps a request asked for its answer on a subject that is no inbox", "error", err)
		})
	}))
	if err != nil {
		return exit.Failed("", err)
	}
	in.onClose(func() error { answering.Close(); return nil })
	service, err := in.api.StartNATS(rpc.NATSConfig{Conn: answering, Role: rpc.Operator, Prefix: natsPrefix})
	if err != nil {
		return exit.Failed("", err)
	}
	in.onClose(service.Stop)
	return in.listen(ctx, certificate != nil)
}

// mostLinger is how long a last look waits for another event at most, on a busy engine.
const mostLinger = 300 * time.Millisecond

// runLog keeps what scripts write with their runs, and shows it on standard error with everything
// else that is not a result.
func (in *installation) runLog(w eventlog.WorkflowName, run eventlog.RunID, lines []sandbox.LogLine) {
	kept := make([]runlog.Line, len(lines))
	for i, line := range lines {
		kept[i] = runlog.Line{At: line.At, Level: line.Level, Text: line.Text}
		level := slog.LevelInfo
		switch line.Level {
		case engine.LevelInputs, engine.LevelCall:
			continue // what was read from outside is kept with the run; it may be anybody's mail
		case "warn":
			level = slog.LevelWarn
		case "error":
			level = slog.LevelError
		case "debug":
			level = slog.LevelDebug
		}
		in.logger.Log(context.Background(), level, line.Text, "workflow", string(w), "run", string(run), "from", "script")
	}
	if in.runs != nil {
		in.runs.Write(w, run, kept)
	}
}

func (in *installation) onClose(f func() error) { in.closers = append(in.closers, f) }

// end closes everything and returns why it ends, err (which may be nil) and what went wrong while it
// was closed. What there was no room for says so, whoever met it.
func (in *installation) end(err error) error {
	in.ended = err
	err = errors.Join(err, in.close())
	if isFull(err) || errors.Is(err, store.ErrFailed) {
		return explainLog(in.settings.Data, err)
	}
	return err
}

// close undoes everything that was opened, in reverse, and frees the data directory.
func (in *installation) close() error {
	var errs []error
	for i := len(in.closers) - 1; i >= 0; i-- {
		errs = append(errs, in.closers[i]())
	}
	in.closers = nil
	return errors.Join(errs...)
}
