package ops

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/auth"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/ops/hooks"
	"github.com/pawl-run/pawl/ops/logread"
	"github.com/pawl-run/pawl/ops/metrics"
	"github.com/pawl-run/pawl/ops/problem"
	"github.com/pawl-run/pawl/ops/replay"
	"github.com/pawl-run/pawl/ops/rpc"
)

// These constants bound what may be under way at once, for all callers together and for each one. A request that stays
// open for long holds memory, a reader of the log and, over NATS, one of the places for answers.
const (
	maxFollowers, maxFollowersEach = 128, 32 // streams of the log, and requests that wait for it to go on
	maxHeavy, maxHeavyEach         = 3, 2    // operations that read a long past: each may take half a gigabyte

	maxBodies, maxBodiesEach = 256 << 10, 64 << 10 // KiB of the bodies that are larger than rpc.SmallBody
)

// Server offers the table of operations. Its methods are safe for concurrent use.
type Server struct {
	*backend
	handler http.Handler
}

// New checks the configuration and builds the routes. The OpenAPI document is made when it is first asked for. The
// error names a required field that is missing, or a setting that makes no sense.
func New(cfg Config) (*Server, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	guard, err := auth.New(auth.Config{Token: cfg.Token, Address: cfg.Address, NoAuth: cfg.NoAuth,
		PublicURL: cfg.PublicURL, Named: cfg.Engine.Token, Login: cfg.Engine.Login, Installation: cfg.Installation})
	if err != nil {
		return nil, fmt.Errorf("ops: %w", err)
	}
	reader := *cfg.Reader
	reader.Ends = explain.Beside{Outlook: cfg.Engine.Outlook}.Ends
	cfg.Reader = &reader
	b := &backend{cfg: cfg, guard: guard, links: auth.NewLinks(cfg.Links),
		followers: auth.NewQuota("readers of the log", "log.followers", maxFollowers, maxFollowersEach),
		heavy:     auth.NewQuota("requests that read a long past", "history.busy", maxHeavy, maxHeavyEach),
		bodies:    auth.NewQuota("KiB of request bodies", "bodies.busy", maxBodies, maxBodiesEach)}
	if b.past, err = replay.NewPast(replay.PastConfig{Log: cfg.Log, Dir: cfg.PastDir, Logger: cfg.Logger}); err != nil {
		return nil, fmt.Errorf("ops: %w", err)
	}
	b.life, b.endLife = context.WithCancel(context.Background())
	context.AfterFunc(b.life, b.past.Close)
	var outgoing prometheus.Collector
	if cfg.Subscriptions != nil {
		outgoing = cfg.Subscriptions.Figures()
	}
	b.metrics = metrics.New(metrics.Sources{
		Engine: cfg.Engine, Reader: cfg.Reader, Log: cfg.Log, Workers: cfg.Workers, Version: cfg.Version,
		Progress: cfg.Progress, Feed: cfg.Feed, Subscriptions: outgoing, Traces: cfg.Traces,
		Holds: knownTypes.Possible(reflect.TypeFor[eventlog.BlockReason]()),
	})
	b.hooks = hooks.New(hooks.Config{
		Engine: cfg.Engine, Secrets: cfg.Secrets, Now: cfg.Now, PublicURL: cfg.PublicURL, Timeout: cfg.Timeout,
		Started: b.started, Refuse: b.refuse, Logger: cfg.Logger, Recorded: b.metrics.Pushed.Inc,
		Answered: b.metrics.Operation(receiveHook.ID, http.StatusAccepted, http.StatusOK),
		Refused:  b.metrics.HookRefusals(hooks.Refusals()...),
		Problem:  func(err error) *rpc.Problem { return b.fault(receiveHook.ID, err) },
	})
	b.openapi = sync.OnceValues(func() ([]byte, error) { return document(cfg.Version) })
	b.log = logread.Reader{Log: cfg.Log, Generation: eventlog.GenerationOf(cfg.Installation), Guard: guard,
		Revocations: &b.revocations, Followers: b.followers,
		KeepAlive: cfg.KeepAlive, Known: b.known, Problem: problem.Of, Saw: cfg.Engine.ReportDamage, Logger: cfg.Logger,
		Fault: func(err error) *rpc.Problem { return b.fault("readLog", err) }}
	return &Server{backend: b, handler: b.routes()}, nil
}

// Handler returns the HTTP interface. Used without Serve, it answers as on a loopback address.
func (s *Server) Handler() http.Handler { return s.handler }

// Explain says what a workflow does or waits for, as the operation explainWorkflow does.
func (s *Server) Explain(name eventlog.WorkflowName) (explain.Why, error) { return s.explain(name) }

// Close ends the log streams. Serve does it by itself.
func (s *Server) Close() { s.endLife() }

// Serve answers on the listener until ctx ends. Then log streams end, open requests are finished
// (at most ShutdownTimeout) and it returns nil. It refuses a listener beyond loopback without a token; other
// errors are the listener's.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	if s.cfg.NoAuth && auth.BeyondLoopback(ln.Addr()) {
		s.endLife()
		return fmt.Errorf("serve on %s: without a token only loopback is answered on", ln.Addr())
	}
	return s.serve(ctx, ln, s.handler)
}

// ServeHooks is Serve for the requests of hooks alone: nothing else is answered, with a token or without.
func (s *Server) ServeHooks(ctx context.Context, ln net.Listener) error {
	return s.serve(ctx, ln, s.hooksAlone())
}

func (s *Server) serve(ctx context.Context, ln net.Listener, handler http.Handler) error {
	conns := auth.NewConnections(s.cfg.MaxConnections, s.cfg.Logger)
	server := &http.Server{
		Handler:           handler,
		ConnContext:       conns.Enter,
		ConnState:         conns.Changed,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug),
		BaseContext:       func(ln net.Listener) context.Context { return auth.Exposed(context.Background(), ln.Addr()) },
	}
	served := make(chan error, 1)
	go func() {
		if s.cfg.TLS != nil {
			server.TLSConfig = s.cfg.TLS.Clone()
			served <- server.ServeTLS(ln, "", "")
			return
		}
		served <- server.Serve(ln)
	}()
	select {
	case err := <-served:
		s.endLife()
		return fmt.Errorf("serve on %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	s.endLife()
	timeout, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.ShutdownTimeout)
	defer cancel()
	if err := server.Shutdown(timeout); err != nil {
		s.cfg.Logger.Warn("open requests were cut off at shutdown", "after", s.cfg.ShutdownTimeout)
		_ = server.Close() // its error is about connections that are being dropped
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve on %s: %w", ln.Addr(), err)
	}
	return nil
}

// StartNATS offers the operations over NATS; they are answered once this returns. Errors are those of
// [rpc.ServeNATS].
func (s *Server) StartNATS(cfg rpc.NATSConfig) (*rpc.NATSService, error) {
	return rpc.ServeNATS(s.life, cfg, rpc.NATSBackend{
		Version: s.cfg.Version, Installation: s.cfg.Installation, Logger: s.cfg.Logger,
		Authenticate: func(token string) (*rpc.Caller, *rpc.Problem) { return s.guard.Authenticate("Bearer", token) },
		Endpoints:    s.endpoints(),
	})
}

// table is the one list of operations, in the order of the documentation.
var table = func() []Operation {
	var all []Operation
	for _, part := range [][]Operation{
		workflowTable, versionTable, effectsTable, historyTable, whyTable, stateTable, catalogTable, diagnosticsTable,
		verifyTable, pastTable, workersTable, clusterTable,
		operatorTable, ingressTable, repairTable, jobTable, evidenceTable, connectorTable, subscriptionTable, tokenTable,
		loginTable, clockTable, logTable, backupTable, doctorTable,
	} {
		all = append(all, part...)
	}
	if err := described(all).CheckIDs(); err != nil {
		panic(err)
	}
	return all
}()

// Operations returns the table, for tests.
func Operations() []Operation { return append([]Operation(nil), table...) }

// Table describes the operations, as a client needs it.
func Table() rpc.Table { return described(table) }

// Lookup returns the operation with the id.
func Lookup(id string) (Operation, bool) {
	for _, o := range table {
		if o.ID == id {
			return o, true
		}
	}
	return Operation{}, false
}

// Possible lists what a field of the operation can be, nil where it is no enumeration.
func Possible(id, field string) []string {
	o, ok := Lookup(id)
	if !ok {
		return nil
	}
	return o.Request.Possible(field)
}

// LoginLink makes a link with which a browser opens the console once, within [auth.LinkLife], as an admin of that name.
func (s *Server) LoginLink(name string) (string, error) {
	actor, p := rpc.ClaimedActor(name)
	if p != nil {
		return "", p
	}
	ctx, cancel := context.WithTimeout(s.life, s.cfg.Timeout)
	defer cancel()
	answer, err := s.createLogin(ctx, rpc.Caller{Actor: actor, Role: rpc.Admin, Key: "local"}, "")
	if err == nil && s.cfg.NoAuth {
		return "", errors.New("an engine without tokens needs no link")
	}
	return answer.URL, err
}
