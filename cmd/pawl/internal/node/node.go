package node

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/time/rate"

	"github.com/pawl-run/pawl/cmd/pawl/internal/builtin"
	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/diskspace"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/tools"
	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/handler"
	"github.com/pawl-run/pawl/engine/runlog"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/ops"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
	"github.com/pawl-run/pawl/projections/store"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/worker"
)

// Node is a data directory with everything that works on it. What is nil was not opened.
type Node struct {
	Settings config.Settings
	with     Parts
	logger   *slog.Logger
	stopped  bool // it is looked at, and no engine is to run on it
	accepts  bool // a loss is being accepted

	limit    int64 // what the broker may store in all; 0 leaves it to the broker
	Server   *embeddednats.Server
	natsTLS  bool // the NATS listener asks for TLS
	NC       *nats.Conn
	Log      *jslog.Log
	runs     *runlog.Stream
	kept     ops.RunLog // runs, or nil
	store    *store.Store
	Scripts  *worker.Pool
	registry *connector.Registry
	Services *tools.Tools
	space    *diskspace.Watch
	Engine   *engine.Engine
	API      *ops.Server
	Listener net.Listener
	Token    string // asked of callers over HTTP; empty where none is asked for
	// Announce says, once, where the interface answers: when all is deployed, or before a long wait.
	Announce func()

	// checked is closed when the check of the log beside the work has ended.
	checked chan struct{}
	// ended is what end was told.
	ended error
	// closers undo what was opened, the last first.
	closers []func() error
}

// Compose makes an engine on an opened data directory, and the interface to it.
func (in *Node) Compose(ctx context.Context, observe func(eventlog.Record), version string) error {
	var err error
	in.registry, err = builtin.Open(in.Settings.Connectors, in.with.MailParser, in.logger, in.onClose)
	if err != nil {
		return in.Settings.Origin.Connectors(err)
	}
	if in.Scripts, err = NewWorkers(in.Settings, in.with, processors+1, in.logger); err != nil {
		return err
	}
	in.onClose(in.Scripts.Close)
	in.space = diskspace.New(in.Settings.Data, in.with.free, in.logger)
	if in.Server.ClientURL() != "" {
		if in.Services, err = tools.Watch(ctx, in.Server, in.registry, in.NatsDir(), in.logger); err != nil {
			return err
		}
		// By then the engine has ended, and the broker has not: calls that are open have had their time.
		in.onClose(in.Services.Close)
	}
	known := NewCatalog(in.registry)
	known.services = in.Services
	var reached engine.Connectors = known
	if in.with.Connectors != nil {
		reached = in.with.Connectors(known)
	}
	clock, err := in.clock(ctx)
	if err != nil {
		return explainLog(in.Settings.Data, err)
	}
	linger := mostLinger
	if in.Settings.Clock.Manual {
		linger = 0 // who advances the clock waits for every run
	}
	in.Engine, err = engine.New(engine.Config{
		Clock: clock, Linger: linger, Log: in.Log, Store: in.store, Scripts: in.Scripts, Connectors: reached,
		Policies: in.Settings.Policies, Logger: in.logger, Observe: in.with.observe(observe), Room: in.space.Check, RunLog: in.runLog,
	})
	if err != nil {
		return exit.Failed("", err)
	}
	certificate, err := in.Settings.TLS()
	if err != nil {
		return err
	}
	var refused func(context.Context) []ops.RefusedService
	var tools func() []ops.ToolUser
	if in.Services != nil {
		refused, tools = in.Services.Refused, in.Services.Users
	}
	if in.Token, err = datadir.Token(in.Settings.Data, in.logger); err != nil {
		return err
	}
	in.API, err = ops.New(ops.Config{
		Engine: in.Engine, Reader: &readmodel.Reader{Store: in.store, Flush: in.Engine.Flush}, Log: in.Log, Connectors: known, Calls: in.registry, RunLog: in.kept,
		Workers: in.Scripts.Report, Version: version, Installation: in.Log.Installation(), Token: in.Token, NoAuth: in.Settings.NoAuth, PublicURL: in.Settings.PublicURL, TLS: certificate, Logger: in.logger,
		Now: clock.Now, Refused: refused, Tools: tools,
	})
	if err != nil {
		return exit.Failed("", err)
	}
	in.onClose(func() error { in.API.Close(); return nil })
	// Not on the connection of the log: the caller chooses the subject of the answer.
	var told rate.Sometimes
	told.Interval = time.Minute
	answering, err := in.Server.ConnectServices(nats.Name("pawl services"), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		told.Do(func() {
			in.logger.Warn("NATS refused an action of the service that answers operators: perhaps a request asked for its answer on a subject that is no inbox", "error", err)
		})
	}))
	if err != nil {
		return exit.Failed("", err)
	}
	in.onClose(func() error { answering.Close(); return nil })
	service, err := in.API.StartNATS(rpc.NATSConfig{Conn: answering, Role: rpc.Operator, Prefix: datadir.NATSPrefix})
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
func (in *Node) runLog(w eventlog.WorkflowName, run eventlog.RunID, lines []sandbox.LogLine) {
	kept := make([]runlog.Line, len(lines))
	for i, line := range lines {
		kept[i] = runlog.Line{At: line.At, Level: line.Level, Text: line.Text}
		level := slog.LevelInfo
		switch line.Level {
		case handler.LevelInputs, handler.LevelCall:
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

func (in *Node) onClose(f func() error) { in.closers = append(in.closers, f) }

// end closes everything and returns why it ends, err (which may be nil) and what went wrong while it
// was closed. What there was no room for says so, whoever met it.
func (in *Node) end(err error) error {
	in.ended = err
	err = errors.Join(err, in.Close())
	if diskspace.IsFull(err) || errors.Is(err, store.ErrFailed) {
		return explainLog(in.Settings.Data, err)
	}
	return err
}

// Close undoes everything that was opened, in reverse, and frees the data directory.
func (in *Node) Close() error {
	var errs []error
	for i := len(in.closers) - 1; i >= 0; i-- {
		errs = append(errs, in.closers[i]())
	}
	in.closers = nil
	return errors.Join(errs...)
}
