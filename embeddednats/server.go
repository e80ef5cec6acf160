package embeddednats

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Server is a running NATS server.
type Server struct {
	nats     *server.Server
	lock     *flock.Flock
	auth     *authenticator
	password string // that of the engine's own users
	prefix   string
	users    []User
	store    string
	cluster  string // its name, empty for a server that is alone
	unserved map[string]Unserved
	listens  bool       // a listener was asked for
	secure   bool       // the listener asks for TLS
	gate     *nats.Conn // nil without readers
	ready    bool       // it has accepted connections
	log      *slog.Logger
	stop     sync.Once

	toolsMu sync.Mutex
	tools   map[string]Tool

	mu        sync.Mutex
	accounts  map[string]*server.Account
	staged    []string // links that StageInMemory made
	stageHome string   // below which they lead
	stageLock *flock.Flock
}

// Start starts a server and returns when it accepts connections. It refuses a data directory that another process uses
// ([ErrInUse]), and an address that is taken.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	log := &logger{to: cfg.Logger}
	if log.to == nil {
		log.to = slog.New(slog.DiscardHandler)
	}
	auth := newAuthenticator(log.to)
	opts, err := cfg.options(auth)
	if err != nil {
		return nil, err
	}
	// The lock comes first: the engine that has the directory most likely has the address, too.
	lock, err := lockDir(cfg.StoreDir)
	if err != nil {
		return nil, err
	}
	for _, addr := range cfg.addresses() {
		if err := free(ctx, addr); err != nil {
			_ = lock.Unlock()
			return nil, fmt.Errorf("start embedded NATS: cannot listen on %s: %w", addr, err)
		}
	}
	if err := checkMode(cfg.StoreDir, cfg.Cluster, cfg.Name); err != nil {
		_ = lock.Unlock()
		return nil, fmt.Errorf("start embedded NATS: %w", err)
	}
	unserved, err := mendMetadata(cfg.StoreDir, cfg.Trust, cfg.Disposable, log.to)
	if err == nil {
		err = mendBlocks(cfg.StoreDir, log.to)
	}
	if err != nil {
		_ = lock.Unlock()
		return nil, fmt.Errorf("start embedded NATS in %s: %w", cfg.StoreDir, err)
	}
	ns, err := server.NewServer(opts)
	if err != nil {
		_ = lock.Unlock()
		return nil, fmt.Errorf("start embedded NATS: %w", err)
	}
	ns.SetLoggerV2(log, false, false, false)
	s := &Server{
		nats: ns, lock: lock, auth: auth, password: rand.Text(), prefix: cmp.Or(cfg.Prefix, "pawl"),
		users: slices.Clone(cfg.Users), listens: cfg.ListenAddr != "", secure: cfg.TLS != nil,
		store: cfg.StoreDir, unserved: unserved,
		log:      log.to,
		accounts: make(map[string]*server.Account), tools: make(map[string]Tool),
	}
	if cfg.Cluster != nil {
		s.cluster = cfg.Cluster.Name
	}

	// Start recovers the store before it returns; ctx must be able to end the wait for it.
	started := make(chan struct{})
	go func() { defer close(started); ns.Start() }()
	deadline := time.Now().Add(startTimeout)
	if d, ok := ctx.Deadline(); ok {
		deadline = d
	}
	select {
	case <-started:
	case <-ctx.Done():
	}
	for ctx.Err() == nil && ns.Running() && time.Now().Before(deadline) {
		if ns.ReadyForConnections(min(time.Until(deadline), time.Second)) && ns.JetStreamEnabled() {
			if err := s.admit(cfg); err != nil {
				s.Shutdown()
				return nil, fmt.Errorf("start embedded NATS in %s: %w", cfg.StoreDir, err)
			}
			s.ready = true
			return s, nil
		}
	}
	fatal := log.lastFatal()
	if fatal == "" {
		fatal = "it did not accept connections"
		if err := context.Cause(ctx); err != nil {
			fatal = err.Error()
		}
	}
	<-started // a store must not be left while it is being recovered
	s.Shutdown()
	return nil, fmt.Errorf("start embedded NATS in %s: %s", cfg.StoreDir, fatal)
}

// admit lets the users in, once JetStream has found its streams: see authenticator.
func (s *Server) admit(cfg Config) error {
	for _, u := range internal(s.prefix, s.password) {
		if err := s.letIn(u); err != nil {
			return err
		}
	}
	if cfg.Cluster != nil {
		s.auth.admit(User{Name: systemUser, Password: s.password}, s.nats.SystemAccount(), nil)
		s.auth.admit(User{Name: localUser, Password: s.password, Local: true}, s.nats.GlobalAccount(), nil)
		s.auth.admit(User{Name: localSystemUser, Password: s.password, Local: true}, s.nats.SystemAccount(), nil)
	}
	if cfg.Insecure && len(cfg.Users) == 0 {
		s.auth.admit(User{}, s.nats.GlobalAccount(), nil)
	}
	var readers gate
	for _, u := range cfg.Users {
		if u.Streams == nil {
			if err := s.letIn(u); err != nil {
				return err
			}
			continue
		}
		if s.gate == nil {
			var err error
			if s.gate, err = s.connect(gateUser, gateInbox, nats.Name("pawl gate for readers")); err != nil {
				return err
			}
			if readers, err = openGate(s.gate); err != nil {
				return err
			}
		}
		account, err := s.account("READER_" + u.Name)
		if err != nil {
			return err
		}
		if err := readers.openStreams(s.nats, u, account); err != nil {
			return err
		}
		s.auth.admit(u, account, nil)
	}
	return nil
}

func (s *Server) letIn(u User) error {
	account, err := s.account(u.Account)
	if err != nil {
		return err
	}
	var kept *apart
	if u.Apart {
		if kept, err = keepApart(s.nats, u, account); err != nil {
			return err
		}
	}
	s.auth.admit(u, account, kept)
	return nil
}

// account finds the account or makes it; the empty name is the engine's.
func (s *Server) account(name string) (*server.Account, error) {
	if name == "" {
		return s.nats.GlobalAccount(), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.accounts[name]; ok {
		return known, nil
	}
	made, err := s.nats.RegisterAccount(name)
	if err != nil {
		return nil, fmt.Errorf("make NATS account %s: %w", name, err)
	}
	s.accounts[name] = made
	return made, nil
}

// free tries to listen on the address before the server does: that an address is taken the server reports only in its
// log.
func free(ctx context.Context, addr string) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	return l.Close()
}

// Connect opens an in-process connection to the engine's account, where the streams are. It may do everything there,
// so no service for other users may answer on it: see ConnectServices. It fails when the server has stopped, or does
// not let it in within a minute.
func (s *Server) Connect(opts ...nats.Option) (*nats.Conn, error) {
	return s.connect(engineUser, engineInbox, opts...)
}

// ConnectServices opens an in-process connection for the service that answers operators. The caller chooses the
// subject of the answer, so this connection may publish to inboxes only, in the operators' account. Errors are those
// of Connect.
func (s *Server) ConnectServices(opts ...nats.Option) (*nats.Conn, error) {
	return s.connect(servicesUser, servicesInbox, opts...)
}

// ConnectConnectors opens an in-process connection that calls the tools that share one user. Errors are those of
// Connect.
func (s *Server) ConnectConnectors(opts ...nats.Option) (*nats.Conn, error) {
	return s.connect(callingUser, toolsInbox, opts...)
}

// connectTime is how long a connection inside this process may take to be made. Only a busy machine makes it slow.
const connectTime = time.Minute

func (s *Server) connect(user, inbox string, opts ...nats.Option) (*nats.Conn, error) {
	base := []nats.Option{
		nats.InProcessServer(s.nats), nats.CustomInboxPrefix(inbox), nats.UserInfo(user, s.password),
		nats.Timeout(connectTime),
	}
	nc, err := nats.Connect("", append(base, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("connect to embedded NATS: %w", err)
	}
	return nc, nil
}

// Name returns the server's name.
func (s *Server) Name() string { return s.nats.Name() }

// A server that once was ready stays so until it is shut down. Its health report still waits a millisecond for that,
// and on a busy machine this time may be over before the report has looked once. Such a report says nothing, and is
// asked for again.
const (
	notReady   = "failed to be ready for connections"
	readyTries = 100
)

// Healthy returns nil while the server and its streams work; otherwise what the server reports. A full disk shows here:
// the server then answers no publish any more until it is restarted, even after space was freed.
func (s *Server) Healthy() error {
	if !s.nats.Running() {
		return fmt.Errorf("embedded NATS: %w", server.ErrServerNotRunning)
	}
	h := s.nats.Healthz(&server.HealthzOptions{})
	for try := 1; strings.Contains(h.Error, notReady) && try < readyTries; try++ {
		h = s.nats.Healthz(&server.HealthzOptions{})
	}
	if h.Status == "ok" && h.Error == "" {
		return nil
	}
	text := h.Error
	for _, e := range h.Errors {
		text += "; " + strings.TrimSpace(e.Stream+" "+e.Error)
	}
	return fmt.Errorf("embedded NATS is %s: %s", h.Status, text)
}

// Shutdown stops the server, waits until everything is closed and frees the data directory. It
// may be called more than once. A node of a cluster first hands over what it leads, so that the others
// need not find out that it is gone: that takes a second.
func (s *Server) Shutdown() {
	s.stop.Do(func() {
		if s.gate != nil {
			s.gate.Close()
		}
		if s.ready && s.cluster != "" {
			s.nats.LameDuckShutdown()
		}
		s.nats.Shutdown()
		s.nats.WaitForShutdown()
		s.unstage()
		if s.ready {
			if err := noteCleanStop(s.store); err != nil {
				s.log.Warn("the clean stop could not be recorded; the next start reads all streams again (slower, nothing is lost)",
					"error", err)
			}
		}
		_ = s.lock.Unlock()
	})
}

// KeepMetadata keeps a synced copy of a stream's metadata. The caller asks for it right before each update of the
// stream, and makes no two updates of one stream at once. If the process is killed in the update, the next Start puts
// the copy back. After an error the update must not be made.
func (s *Server) KeepMetadata(stream string) error {
	if err := keepMetadata(streamDir(s.store, stream)); err != nil {
		return fmt.Errorf("keep a copy of the metadata of stream %s: %w", stream, err)
	}
	return nil
}

// Unserved says why the server serves nothing of a stream that is in its store; ok is false when no reason is known.
func (s *Server) Unserved(stream string) (why Unserved, ok bool) {
	why, ok = s.unserved[stream]
	return why, ok
}
