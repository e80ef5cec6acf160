package ops

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"reflect"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/auth"
	"github.com/pawl-run/pawl/ops/metrics"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
	"github.com/pawl-run/pawl/sandbox/worker"
)

// Config of a Server. Engine, Reader, Log and Connectors are required.
type Config struct {
	Engine *engine.Engine
	// Reader answers lists and views; its Flush is the engine's.
	Reader *readmodel.Reader
	Log    eventlog.Log
	// Connectors says which operations there are now.
	Connectors deploy.Catalog
	// Refused looks for services that were found and are not offered to scripts, and says why; nil
	// means that services are not looked for.
	Refused func(context.Context) []RefusedService
	// Tools lists the tools that have a user of their own on NATS; nil means that there are none.
	Tools func() []ToolUser
	// Calls performs the calls of operation callConnector; without it there is nothing to call.
	Calls Calls
	// RunLog is read for a run's log and evidence; nil means that this engine keeps no run log.
	RunLog RunLog
	// Workers reports on the processes that run scripts; nil means that there are none.
	Workers func() worker.Report
	// Version of this program, as `pawl version` prints it.
	Version string
	// Installation names the log this engine belongs to.
	Installation string
	// Token is asked of every caller over HTTP, but for health. It opens everything, and gives no name:
	// transitions carry the one that the caller claims. Required unless NoAuth, and never shown.
	Token string
	// NoAuth lets in whatever reaches this engine, without a token. Serve refuses it beyond loopback.
	NoAuth bool
	// PublicURL is the address under which this engine is reached where that is not its own, such as
	// https://pawl.example.com when TLS ends before it; its host is answered to. Empty for none.
	PublicURL string
	// TLS, when set, is used by Serve. CheckListen says when it is needed.
	TLS *tls.Config
	// Now is the engine's clock; time.Now when nil.
	Now func() time.Time
	// Timeout bounds an operation that records or looks something up, also the wait for a starting
	// engine; 0 means 10 s. When it ends first the answer is 503.
	Timeout time.Duration
	// ShutdownTimeout is how long Serve waits for open requests; 0 means 10 s.
	ShutdownTimeout time.Duration
	// HistoryTimeout bounds an operation that rebuilds a past state; 0 means a minute.
	HistoryTimeout time.Duration
	// MaxConnections bounds the open connections of Serve; 0 means 1024.
	MaxConnections int
	// KeepAlive is the time between comments on a silent log stream, and how long a request over NATS
	// waits for the log to go on; 0 means 15 s.
	KeepAlive time.Duration
	// Logger is slog.Default() when nil.
	Logger *slog.Logger
}

func (c *Config) validate() error {
	if c.Engine == nil || c.Reader == nil || c.Reader.Store == nil || c.Log == nil || c.Connectors == nil {
		return errors.New("ops: Engine, Reader, Log and Connectors are required")
	}
	if c.Token == "" && !c.NoAuth {
		return errors.New("ops: a Token is required, unless NoAuth says that none is wanted")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Second
	}
	if c.ShutdownTimeout == 0 {
		c.ShutdownTimeout = 10 * time.Second
	}
	if c.HistoryTimeout == 0 {
		c.HistoryTimeout = time.Minute
	}
	if c.MaxConnections == 0 {
		c.MaxConnections = auth.DefaultConnections
	}
	if c.KeepAlive == 0 {
		c.KeepAlive = 15 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return nil
}

// What may be under way at once, of one caller and of all together. Each request that stays for long
// holds memory, a reader of the log and, over NATS, one of the places for answers.
const (
	mostFollowers, mostFollowersEach = 128, 32 // streams of the log, and requests that wait for it to go on
	mostHeavy, mostHeavyEach         = 8, 4    // operations that read a long past
)

// Server offers the table of operations. Its methods are safe for concurrent use.
type Server struct {
	cfg     Config
	guard   *auth.Guard
	metrics *metrics.Metrics
	openapi []byte
	handler http.Handler
	// followers are the streams of the log and the requests that wait for it to go on; heavy are the
	// operations that read a long past.
	followers, heavy *auth.Quota
	// revocations tells streams to look whether their caller's token is still in use.
	revocations auth.Revocations
	// life ends when the server stops: log streams end with it.
	life    context.Context
	endLife context.CancelFunc
}

// New checks the configuration and builds the routes and the OpenAPI document.
func New(cfg Config) (*Server, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	guard, err := auth.New(auth.Config{Token: cfg.Token, NoAuth: cfg.NoAuth, PublicURL: cfg.PublicURL,
		Named: cfg.Engine.Token})
	if err != nil {
		return nil, fmt.Errorf("ops: %w", err)
	}
	s := &Server{cfg: cfg, guard: guard,
		followers: auth.NewQuota("readers of the log", "log.followers", mostFollowers, mostFollowersEach),
		heavy:     auth.NewQuota("requests that read a long past", "history.busy", mostHeavy, mostHeavyEach)}
	s.life, s.endLife = context.WithCancel(context.Background())
	s.metrics = metrics.New(metrics.Sources{
		Engine: cfg.Engine, Reader: cfg.Reader, Log: cfg.Log, Workers: cfg.Workers, Version: cfg.Version,
		Holds: knownTypes.Possible(reflect.TypeFor[eventlog.BlockReason]()),
	})
	openapi, err := document(cfg.Version)
	if err != nil {
		return nil, err
	}
	s.openapi = openapi
	s.handler = s.routes()
	return s, nil
}

// Handler returns the HTTP interface. Used without Serve, it answers like one on loopback.
func (s *Server) Handler() http.Handler { return s.handler }

// Close ends the log streams. Serve does it by itself.
func (s *Server) Close() { s.endLife() }

// Serve answers on the listener until ctx ends. Then log streams end, open requests are finished
// (at most ShutdownTimeout) and it returns nil.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	if s.cfg.NoAuth && auth.BeyondLoopback(ln.Addr()) {
		s.endLife()
		return fmt.Errorf("serve on %s: without a token only loopback is answered on", ln.Addr())
	}
	conns := auth.NewConnections(s.cfg.MaxConnections, s.cfg.Logger)
	server := &http.Server{
		Handler:           s.handler,
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

// dispatch carries out an operation given as one JSON object of its path, query and body fields. It
// returns the status and the answer's JSON, or the problem.
func (s *Server) dispatch(ctx context.Context, o *Operation, c *Call, request []byte) (int, []byte, *rpc.Problem) {
	parsed, err := o.Request.FromObject(request)
	if err != nil {
		return 0, nil, problemOf(err)
	}
	status, answer, err := s.call(ctx, o, c, parsed)
	if err != nil {
		return 0, nil, s.fault(o.ID, err)
	}
	body, err := rpc.EncodeAnswer(answer)
	if err != nil {
		return 0, nil, s.fault(o.ID, err)
	}
	return status, body, nil
}

// call runs the operation within its time.
func (s *Server) call(ctx context.Context, o *Operation, c *Call, request any) (status int, answer any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = panicked(r)
		}
	}()
	if !o.Slow {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.cfg.Timeout)
		defer cancel()
	}
	if err := s.started(ctx); err != nil {
		return 0, nil, err
	}
	if p := o.Permit(&c.Caller, request); p != nil {
		return 0, nil, p
	}
	if o.heavy {
		leave, p := s.heavy.Take(&c.Caller)
		if p != nil {
			return 0, nil, p
		}
		defer leave()
	}
	return o.do(ctx, c, request)
}

// started waits for an engine that is still replaying its log.
func (s *Server) started(ctx context.Context) error {
	select {
	case <-s.cfg.Engine.Ready():
		return nil
	default:
	}
	timeout, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	select {
	case <-s.cfg.Engine.Ready():
		return nil
	case <-timeout.Done():
		return rpc.Problemf(http.StatusServiceUnavailable, "engine.starting",
			"the engine is still reading its log").WithHint("ask again in a moment; /readyz says when it is ready")
	}
}

// fault turns an error into its problem and logs what a person must look into.
func (s *Server) fault(id string, err error) *rpc.Problem {
	p := problemOf(err)
	if p.Code == codeDamaged {
		s.cfg.Engine.Saw(p.Detail)
	}
	if p.Status == http.StatusInternalServerError {
		s.cfg.Logger.Error("an operation failed", "operation", id, "error", err)
	}
	return p
}
