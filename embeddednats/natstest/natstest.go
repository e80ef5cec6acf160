package natstest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/embeddednats"
)

// NewServer starts a server without a listener. Options change its configuration.
func NewServer(tb testing.TB, options ...func(*embeddednats.Config)) *embeddednats.Server {
	tb.Helper()
	cfg := embeddednats.Config{StoreDir: filepath.Join(tb.TempDir(), "nats")}
	for _, o := range options {
		o(&cfg)
	}
	s, err := embeddednats.Start(tb.Context(), cfg)
	if err != nil {
		tb.Fatalf("start NATS server: %v", err)
	}
	tb.Cleanup(s.Shutdown)
	return s
}

// Fast lets writes be acknowledged before they are on the disk: for tests in which no power fails.
func Fast(c *embeddednats.Config) { c.SyncInterval = time.Minute }

// InDir makes the server use the directory, so that a test can stop it and start another one on it.
func InDir(dir string) func(*embeddednats.Config) {
	return func(c *embeddednats.Config) { c.StoreDir = dir }
}

// WithoutJetStream is a connection to a server that answers nothing by itself, so that a test can answer in the place
// of JetStream. Both end with the test.
func WithoutJetStream(tb testing.TB) *nats.Conn {
	tb.Helper()
	s, err := server.NewServer(&server.Options{DontListen: true, NoLog: true, NoSigs: true})
	if err != nil {
		tb.Fatal(err)
	}
	s.Start()
	tb.Cleanup(s.Shutdown)
	if !s.ReadyForConnections(10 * time.Second) {
		tb.Fatal("the server does not start")
	}
	nc, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	return nc
}

// Connect opens an in-process connection that is closed when the test ends.
func Connect(tb testing.TB, s *embeddednats.Server, opts ...nats.Option) *nats.Conn {
	tb.Helper()
	nc, err := s.Connect(opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	return nc
}

// Cluster is a JetStream cluster on loopback.
type Cluster struct {
	tb      testing.TB
	configs []embeddednats.Config
	// Servers has a nil where a server was stopped.
	Servers []*embeddednats.Server
}

// NewCluster starts n servers and waits until they can hold streams together. Where another program takes an address
// meanwhile, it starts anew on others. With -short it skips the test.
func NewCluster(tb testing.TB, n int, options ...func(*embeddednats.Config)) *Cluster {
	tb.Helper()
	if testing.Short() {
		tb.Skip("servers elect leaders, which takes seconds: left out by -short")
	}
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	c := &Cluster{tb: tb}
	err := c.form(ctx, n, options)
	for tries := 1; errors.Is(err, syscall.EADDRINUSE) && tries < 5; tries++ { // another program took an address meanwhile
		c.stopAll()
		err = c.form(ctx, n, options)
	}
	if err != nil {
		tb.Fatal(err)
	}
	c.awaitPlacement(ctx)
	return c
}

// form starts n blank servers on addresses that are free now.
func (c *Cluster) form(ctx context.Context, n int, options []func(*embeddednats.Config)) error {
	c.tb.Helper()
	c.configs, c.Servers = nil, make([]*embeddednats.Server, n)
	routes := freeAddresses(c.tb, n)
	for i := range n {
		cfg := embeddednats.Config{
			StoreDir: filepath.Join(c.tb.TempDir(), "nats"),
			Name:     fmt.Sprintf("n%d", i+1),
			Cluster:  &embeddednats.Cluster{Name: "pawl-test", Listen: routes[i], Routes: routes},
		}
		for _, o := range options {
			o(&cfg)
		}
		c.configs = append(c.configs, cfg)
	}
	c.tb.Cleanup(c.stopAll) // after TempDir, so that the servers stop before their directories are removed
	for i := range n {
		if err := c.start(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// Start starts server i, which was stopped.
func (c *Cluster) Start(ctx context.Context, i int) {
	c.tb.Helper()
	if err := c.start(ctx, i); err != nil {
		c.tb.Fatal(err)
	}
}

func (c *Cluster) start(ctx context.Context, i int) error {
	s, err := embeddednats.Start(ctx, c.configs[i])
	if err != nil {
		return fmt.Errorf("start NATS server %d: %w", i, err)
	}
	c.Servers[i] = s
	return nil
}

func (c *Cluster) stopAll() {
	for i := range c.Servers {
		c.Stop(i)
	}
}

// Join starts a blank server of that name, which finds the others, and returns its number.
func (c *Cluster) Join(ctx context.Context, name string) int {
	c.tb.Helper()
	cfg := c.configs[0]
	own := *cfg.Cluster
	own.Listen = freeAddresses(c.tb, 1)[0]
	cfg.StoreDir, cfg.Name, cfg.Cluster = filepath.Join(c.tb.TempDir(), "nats"), name, &own
	c.configs, c.Servers = append(c.configs, cfg), append(c.Servers, nil)
	c.Start(ctx, len(c.Servers)-1)
	return len(c.Servers) - 1
}

// Config is how server i is started.
func (c *Cluster) Config(i int) embeddednats.Config { return c.configs[i] }

// Stop shuts server i down.
func (c *Cluster) Stop(i int) {
	if s := c.Servers[i]; s != nil {
		s.Shutdown()
		c.Servers[i] = nil
	}
}

// Connect opens an in-process connection to server i that is closed when the test ends.
func (c *Cluster) Connect(i int, opts ...nats.Option) *nats.Conn {
	c.tb.Helper()
	return Connect(c.tb, c.Servers[i], opts...)
}

// StepDown makes the stream's leader give up its role. It reports whether it did: during an
// election there is none to ask.
func (c *Cluster) StepDown(ctx context.Context, nc *nats.Conn, stream string) bool {
	_, err := nc.RequestWithContext(ctx, "$JS.API.STREAM.LEADER.STEPDOWN."+stream, nil)
	return err == nil
}

// awaitPlacement tries a stream on all servers until the cluster takes it: it does so once it has a
// leader that knows how much disk space the others have. The servers do not announce that, so trying
// again is the only way.
func (c *Cluster) awaitPlacement(ctx context.Context) {
	c.tb.Helper()
	js, err := jetstream.New(c.Connect(0))
	if err != nil {
		c.tb.Fatal(err)
	}
	for ctx.Err() == nil {
		once, cancel := context.WithTimeout(ctx, 2*time.Second)
		_, err = js.CreateStream(once, jetstream.StreamConfig{Name: "natstest", Subjects: []string{"natstest"},
			Replicas: len(c.Servers)})
		if err == nil {
			err = js.DeleteStream(once, "natstest")
		}
		cancel()
		if err == nil {
			return
		}
	}
	c.tb.Fatalf("the cluster places no stream on all servers: %v, %v", ctx.Err(), err)
}

// FreeAddress is an address of this machine that nothing listens on, for a program that must know it beforehand. Its
// port is below those that systems give to outgoing connections (from 32768 on Linux, 16000 in some sandboxes): one
// of those can be free now and taken before the program listens on it.
func FreeAddress(tb testing.TB) string { return freeAddresses(tb, 1)[0] }

func freeAddresses(tb testing.TB, n int) []string {
	tb.Helper()
	const lowest, end = 10_000, 16_000
	var addresses []string
	for tries := 0; len(addresses) < n; tries++ {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", lowest+rand.IntN(end-lowest)))
		if err != nil {
			if tries == 1000 {
				tb.Fatalf("no port from %d to %d is free: %v", lowest, end-1, err)
			}
			continue
		}
		// Closed only at the end, so that all are different.
		defer l.Close()
		addresses = append(addresses, l.Addr().String())
	}
	return addresses
}
