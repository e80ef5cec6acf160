//go:build unix

package faults

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/node"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/httpcall"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/engine/lease"
	"github.com/pawl-run/pawl/engine/peer"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/eventlog/jslog/bucket"
	"github.com/pawl-run/pawl/projections/store"
	"github.com/pawl-run/pawl/sandbox/vm"
)

// nodeVariable holds a nodeConfig: this process is that node, and runs no tests.
const nodeVariable = "PAWL_TEST_NODE"

// partitions is what a cluster has by default.
const partitions = 16

func TestMain(m *testing.M) {
	flag.Parse()
	text := os.Getenv(nodeVariable)
	if text == "" {
		os.Exit(m.Run())
	}
	var c nodeConfig
	err := json.Unmarshal([]byte(text), &c)
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		err = c.run(ctx)
		stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "node ends:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// nodeConfig says which node a process is.
type nodeConfig struct {
	Name, Dir string
	// Forms: this node makes the log and the leases; the others wait for them.
	Forms bool
	// Servers are the URLs of servers that are not the node's own; empty for an embedded one.
	Servers []string
	Listen  string
	Routes  []string
	// Advertise is where the other nodes reach this one.
	Advertise string
	// Sink is the host and port of the receiver.
	Sink string
	// Replicas is how many copies each stream has.
	Replicas int
	// Renew is how often leases are renewed; 0 as the engine has it.
	Renew time.Duration
	// Control is where the node answers the test.
	Control string
}

// runningNode is a node as its own process sees it.
type runningNode struct {
	cfg    nodeConfig
	logger *slog.Logger
	server *embeddednats.Server // nil where the servers are others
	js     jetstream.JetStream
	engine *engine.Engine
	clock  *steppedClock
}

// run is the process of a node, until ctx ends.
func (c nodeConfig) run(ctx context.Context) error {
	n := &runningNode{cfg: c, clock: &steppedClock{}, logger: slog.New(slog.NewTextHandler(os.Stderr,
		&slog.HandlerOptions{Level: slog.LevelWarn})).With("node", c.Name)}
	if len(c.Servers) == 0 {
		var err error
		config := embeddednats.Config{StoreDir: c.Dir, Name: c.Name, Logger: n.logger}
		if len(c.Routes) > 1 {
			config.Cluster = &embeddednats.Cluster{Name: "faults", Listen: c.Listen, Routes: c.Routes, Advertise: c.Advertise}
		}
		n.server, err = embeddednats.Start(ctx, config)
		if err != nil {
			return err
		}
		defer n.server.Shutdown()
	}
	closeLog, config, err := n.open(ctx)
	if err != nil {
		return err
	}
	defer closeLog()
	if n.engine, err = engine.New(config); err != nil {
		return err
	}
	control, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Control)
	if err != nil {
		return err
	}
	web := &http.Server{Handler: n.control(), ReadHeaderTimeout: time.Minute}
	go func() { _ = web.Serve(control) }()
	defer web.Close()
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() {
		if n.server != nil {
			aside, cancel := context.WithTimeout(working, 3*time.Second)
			defer cancel()
			if err := n.server.StepAside(aside); err != nil {
				n.logger.Warn("not all is led by others", "error", err)
			}
		}
		stop()
	})()
	return n.engine.Run(working)
}

func (n *runningNode) dial() (*nats.Conn, error) {
	options := []nats.Option{nats.ReconnectBufSize(-1), nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond)}
	if n.server != nil {
		return n.server.Connect(options...)
	}
	return storage.Dial(config.Servers{URL: strings.Join(n.cfg.Servers, ",")}, "", n.logger,
		append(options, nats.DontRandomize())...)
}

// open opens what the engine works with.
func (n *runningNode) open(ctx context.Context) (closeAll func(), c engine.Config, err error) {
	var conns [3]*nats.Conn
	for i := range conns {
		if conns[i], err = n.dial(); err != nil {
			return nil, c, err
		}
	}
	if n.js, err = jetstream.New(conns[1]); err != nil {
		return nil, c, err
	}
	var log *jslog.Log
	var leases *bucket.Bucket
	err = patiently(ctx, n.logger, func(ctx context.Context) (err error) {
		if !n.cfg.Forms {
			if leases, err = bucket.Open(ctx, n.js, "PAWL_LEASES"); err != nil {
				return fmt.Errorf("the cluster is not formed yet: %w", err)
			}
		}
		log, err = jslog.Open(ctx, conns[0], jslog.Config{Partitions: partitions, Replicas: n.cfg.Replicas, Logger: n.logger,
			Mark: filepath.Join(n.cfg.Dir, "mark")})
		if err != nil || leases != nil {
			return err
		}
		if leases, err = bucket.Create(ctx, n.js, "PAWL_LEASES", n.cfg.Replicas); err != nil {
			err = errors.Join(err, log.Close())
		}
		return err
	})
	if err != nil {
		return nil, c, err
	}
	keeper, err := lease.New(lease.Config{Bucket: leases, Partitions: partitions, Node: n.cfg.Name, Renew: n.cfg.Renew,
		Logger: n.logger})
	if err != nil {
		return nil, c, err
	}
	st, err := store.Open(store.Config{Dir: filepath.Join(n.cfg.Dir, "store"), Logger: n.logger})
	if err != nil {
		return nil, c, err
	}
	quiet := time.Second
	http, err := httpcall.New(httpcall.Config{Hosts: map[string]httpcall.HostConfig{n.cfg.Sink: {Private: true,
		Timeout: 5 * time.Second, Quiet: &quiet, Reconcile: &httpcall.ReconcileConfig{Get: "/seen?key={idempotencyKey}",
			Applied: httpcall.Rule{Status: 200}, Failed: httpcall.Rule{Status: 404}}}}})
	if err != nil {
		return nil, c, err
	}
	registry, err := connector.NewRegistry(http)
	if err != nil {
		return nil, c, err
	}
	scripts := vm.NewExecutor(vm.Config{})
	return func() {
			_ = errors.Join(scripts.Close(), st.Close(), log.Close())
		}, engine.Config{Log: log, Store: st, Scripts: scripts, Connectors: node.NewCatalog(registry), Leases: keeper,
			Peers: peer.New(conns[2], ""), Clock: n.clock, Logger: n.logger}, nil
}

// patiently tries again for as long as a cluster may take to form, or to elect its leaders.
func patiently(ctx context.Context, logger *slog.Logger, try func(context.Context) error) error {
	for end := time.Now().Add(2 * time.Minute); ; {
		once, cancel := context.WithTimeout(ctx, 20*time.Second)
		err := try(once)
		cancel()
		if err == nil || errors.Is(err, eventlog.ErrDamaged) || ctx.Err() != nil || time.Now().After(end) {
			return err
		}
		logger.Debug("waiting", "for", err)
		clock.Sleep(ctx, 200*time.Millisecond)
	}
}

// steppedClock is the machine's clock, set by so much.
type steppedClock struct{ ahead atomic.Int64 }

func (c *steppedClock) Now() time.Time {
	return time.Now().Round(0).Add(time.Duration(c.ahead.Load())) // without the reading of the clock that cannot be set
}

func (c *steppedClock) At(t time.Time) (<-chan struct{}, func()) {
	return clock.System{}.At(time.Now().Add(t.Sub(c.Now())))
}

// Elapsed is the clock that cannot be set.
func (c *steppedClock) Elapsed() time.Duration { return clock.Elapsed() }

// nodeStatus is what a node says of itself.
type nodeStatus struct {
	Owned, Held int
	Stopped     []string
	// InStep: all streams have all their copies. Transitions are all that were ever written to the log.
	InStep      bool
	Transitions uint64
}

// control answers the test.
func (n *runningNode) control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /deploy", func(w http.ResponseWriter, r *http.Request) {
		source, err := io.ReadAll(r.Body)
		if err == nil {
			var result engine.DeployResult
			result, err = n.engine.Deploy(r.Context(), enginetest.Tester, engine.DeployRequest{Source: string(source),
				Filename: "w.js", GrantUsed: true})
			if err == nil && result.Refused {
				err = fmt.Errorf("refused: %+v", result.Problems)
			}
		}
		answer(w, err)
	})
	mux.HandleFunc("POST /push", func(w http.ResponseWriter, r *http.Request) {
		id := r.FormValue("id")
		_, err := n.engine.Push(r.Context(), enginetest.Tester, eventlog.WorkflowName(r.FormValue("workflow")), "in",
			[]decide.PushItem{{MessageID: eventlog.MessageID(id), Title: id, Payload: json.RawMessage(`{}`)}})
		answer(w, err)
	})
	mux.HandleFunc("POST /clock", func(w http.ResponseWriter, r *http.Request) {
		by, err := time.ParseDuration(r.FormValue("ahead"))
		n.clock.ahead.Store(int64(by))
		answer(w, err)
	})
	mux.HandleFunc("GET /why", func(w http.ResponseWriter, r *http.Request) {
		why, _ := n.engine.Why(eventlog.WorkflowName(r.FormValue("workflow")))
		_, _ = fmt.Fprintf(w, "%+v\n", why)
	})
	mux.HandleFunc("GET /spent", func(w http.ResponseWriter, _ *http.Request) {
		var spent syscall.Rusage
		err := syscall.Getrusage(syscall.RUSAGE_SELF, &spent)
		if answer(w, err); err == nil {
			_, _ = fmt.Fprint(w, spent.Utime.Nano()+spent.Stime.Nano())
		}
	})
	mux.HandleFunc("GET /groups", n.groups)
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) {
		var s nodeStatus
		for _, p := range n.engine.Partitions() {
			if p.Owned {
				s.Owned++
			}
			if p.Held {
				s.Held++
			}
			if p.Stopped != nil {
				s.Stopped = append(s.Stopped, p.Stopped.Error())
			}
		}
		if s.InStep = true; r.FormValue("streams") != "" {
			s.Transitions, s.InStep = n.inStep(r.Context())
		}
		_ = json.NewEncoder(w).Encode(s)
	})
	return mux
}

func answer(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}

// inStep counts what the log has taken, and reports whether each stream has all its copies, and they are current.
func (n *runningNode) inStep(ctx context.Context) (transitions uint64, whole bool) {
	all := n.js.ListStreams(ctx)
	count := 0
	for info := range all.Info() {
		count++
		if !strings.HasPrefix(info.Config.Name, "KV_") {
			transitions += info.State.LastSeq
		}
		if len(n.cfg.Routes) == 1 && len(n.cfg.Servers) == 0 {
			continue // a server alone has no groups
		}
		if info.Cluster == nil || info.Cluster.Leader == "" || len(info.Cluster.Replicas) != n.cfg.Replicas-1 {
			return transitions, false
		}
		for _, r := range info.Cluster.Replicas {
			if !r.Current || r.Offline {
				return transitions, false
			}
		}
	}
	return transitions, all.Err() == nil && count == partitions+1
}
