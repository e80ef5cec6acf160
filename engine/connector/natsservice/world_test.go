package natsservice_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/natsservice"
	"github.com/pawl-run/pawl/eventlog"
)

// world is a server with a listener, and an engine's end of it.
type world struct {
	t        *testing.T
	server   *embeddednats.Server
	users    map[string]embeddednats.User
	registry *connector.Registry
	watcher  *natsservice.Watcher
	logged   *lines
}

func newWorld(t *testing.T, options ...func(*world, *natsservice.Config)) *world {
	t.Helper()
	list, err := embeddednats.Users(t.TempDir(), "", 1)
	if err != nil {
		t.Fatal(err)
	}
	// An engine on another machine: its user may do everything.
	list = append(list, embeddednats.User{Name: "engine", Password: "secret", Account: embeddednats.ConnectorsAccount})
	w := &world{t: t, users: make(map[string]embeddednats.User), logged: &lines{}}
	for _, u := range list {
		w.users[u.Name] = u
	}
	w.server = natstest.NewServer(t, natstest.Fast, func(c *embeddednats.Config) {
		c.ListenAddr, c.Users = "127.0.0.1:0", list
	})
	if w.registry, err = connector.NewRegistry(); err != nil {
		t.Fatal(err)
	}
	cfg := natsservice.Config{
		Connect: w.server.ConnectConnectors, Registry: w.registry,
		Interval: time.Hour, // tests look when they mean to
		Quiet:    150 * time.Millisecond,
		Logger:   slog.New(slog.NewTextHandler(w.logged, nil)),
	}
	for _, o := range options {
		o(w, &cfg)
	}
	if w.watcher, err = natsservice.New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.watcher.Close() })
	return w
}

// connectorURL is the address for tools.
func (w *world) connectorURL() string { return w.userURL(embeddednats.Connector) }

func (w *world) userURL(name string) string {
	u, err := url.Parse(w.server.ClientURL())
	if err != nil {
		w.t.Fatal(err)
	}
	u.User = url.UserPassword(name, w.users[name].Password)
	return u.String()
}

// outsider is a connection that may do everything where the tools are.
func (w *world) outsider() *nats.Conn {
	w.t.Helper()
	nc, err := nats.Connect(w.userURL("engine"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(nc.Close)
	return nc
}

func (w *world) start(name string, endpoints ...endpointSpec) *tool {
	w.t.Helper()
	return startTool(w.t, toolSpec{URL: w.connectorURL(), Name: name, Endpoints: endpoints})
}

func (w *world) refresh() {
	w.t.Helper()
	if err := w.watcher.Refresh(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// await waits until the registry has the operations.
func (w *world) await(operations ...string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	if err := w.watcher.Await(ctx, operations...); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) has(name, operation string) bool {
	_, ok := w.registry.Operation(name, operation)
	return ok
}

// refusal finds why something is refused.
func (w *world) refusal(service, endpoint string) (natsservice.Refusal, bool) {
	for _, r := range w.watcher.Refused() {
		if r.Service == service && r.Endpoint == endpoint {
			return r, true
		}
	}
	return natsservice.Refusal{}, false
}

func call(operation, key string, timeout time.Duration, params any) connector.Call {
	name, operation, _ := strings.Cut(operation, ".")
	raw, err := json.Marshal(params)
	if err != nil {
		panic(err)
	}
	now := time.Now()
	return connector.Call{
		Workflow: "orders", Run: "R1", Connector: name, Operation: operation, Params: raw,
		Key: key, StartedAt: now, Deadline: now.Add(timeout),
	}
}

func (w *world) perform(c connector.Call) connector.Outcome {
	return w.registry.Perform(w.t.Context(), c)
}

// wantOutcome compares what became of a call.
func wantOutcome(t *testing.T, got connector.Outcome, status connector.Status, class eventlog.Class, code string) {
	t.Helper()
	if got.Status != status {
		t.Errorf("status %d, want %d: %v", got.Status, status, got.Failure)
		return
	}
	if status == connector.Applied {
		return
	}
	if got.Failure == nil || got.Failure.Class != class || got.Failure.Code != code {
		t.Errorf("failure %v (%+v), want %s %s", got.Failure, got.Failure, class, code)
	}
}

// lines is a log that a test can look at.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) has(part string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), part)
}

// through connects through a proxy and tells how the connection fares.
func through(p *proxy, u embeddednats.User, events chan<- string) natsservice.ConnectFunc {
	return func(ours ...nats.Option) (*nats.Conn, error) {
		nc, err := natsservice.ConnectURL(p.url(url.UserPassword(u.Name, u.Password)),
			nats.ReconnectWait(20*time.Millisecond), nats.ReconnectJitter(0, 0))(ours...)
		if err == nil {
			changes := nc.StatusChanged(nats.CONNECTED, nats.RECONNECTING, nats.CLOSED)
			go func() {
				for s := range changes {
					if s == nats.CLOSED {
						return
					}
					events <- s.String()
				}
			}()
		}
		return nc, err
	}
}

func waitFor(t *testing.T, events <-chan string, want string) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		select {
		case got := <-events:
			if got == want {
				return
			}
		case <-limit:
			t.Fatalf("the connection is never %s", want)
		}
	}
}
