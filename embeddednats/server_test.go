package embeddednats_test

import (
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/embeddednats/natstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStoreSurvivesRestart(t *testing.T) {
	dir := t.TempDir()
	s := natstest.NewServer(t, natstest.InDir(dir))
	if err := s.Healthy(); err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(natstest.Connect(t, s))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "s", []byte("kept")); err != nil {
		t.Fatal(err)
	}
	if s.ClientURL() != "" {
		t.Errorf("a server without ListenAddr listens on %s", s.ClientURL())
	}
	s.Shutdown()
	s.Shutdown()
	if s.Healthy() == nil {
		t.Error("a stopped server calls itself healthy")
	}

	s = natstest.NewServer(t, natstest.InDir(dir))
	if js, err = jetstream.New(natstest.Connect(t, s)); err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	m, err := stream.GetMsg(t.Context(), 1)
	if err != nil || string(m.Data) != "kept" {
		t.Errorf("after restart: %v, %v", m, err)
	}
}

func TestDirectoryIsLocked(t *testing.T) {
	dir := t.TempDir()
	s := natstest.NewServer(t, natstest.InDir(dir))
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	// The address of a second one is taken, too: it is the directory that says why.
	_, err = embeddednats.Start(t.Context(), embeddednats.Config{StoreDir: dir, ListenAddr: taken.Addr().String(),
		Insecure: true})
	if !errors.Is(err, embeddednats.ErrInUse) {
		t.Fatalf("two servers on one directory: %v", err)
	}
	for _, want := range []string{dir, "in use by another pawl", "pid " + strconv.Itoa(os.Getpid())} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q lacks %q", err, want)
		}
	}
	s.Shutdown()
	natstest.NewServer(t, natstest.InDir(dir)) // free again
}

func TestListenAddressTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = embeddednats.Start(t.Context(), embeddednats.Config{StoreDir: t.TempDir(), ListenAddr: l.Addr().String(),
		Insecure: true})
	if err == nil || !strings.Contains(err.Error(), l.Addr().String()) || !strings.Contains(err.Error(), "in use") {
		t.Errorf("error %v names neither the address nor the reason", err)
	}
}

func TestListenerNeedsUsers(t *testing.T) {
	_, err := embeddednats.Start(t.Context(), embeddednats.Config{StoreDir: t.TempDir(), ListenAddr: "127.0.0.1:0"})
	if err == nil || !strings.Contains(err.Error(), "needs users") {
		t.Errorf("unauthenticated listener: %v", err)
	}
}

func TestUsersAndPermissions(t *testing.T) {
	s := natstest.NewServer(t, func(c *embeddednats.Config) {
		c.ListenAddr = "127.0.0.1:0"
		c.Users = []embeddednats.User{{Name: "reader", Password: "secret", Publish: []string{},
			Subscribe: []string{"news.>"}}}
	})
	engine := natstest.Connect(t, s)

	if nc, err := nats.Connect(s.ClientURL()); err == nil {
		nc.Close()
		t.Error("connected without credentials")
	}
	denied := make(chan error, 8)
	reader, err := nats.Connect(s.ClientURL(), nats.UserInfo("reader", "secret"),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { denied <- err }))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	sub, err := reader.SubscribeSync("news.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := engine.Publish("news.today", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := sub.NextMsg(10 * time.Second); err != nil {
		t.Errorf("reader got nothing: %v", err)
	}
	if err := reader.Publish("news.fake", nil); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-denied:
		if !strings.Contains(err.Error(), "news.fake") {
			t.Errorf("unexpected error: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("reader may publish")
	}
}

func TestRefusedConfigurations(t *testing.T) {
	for name, cfg := range map[string]embeddednats.Config{
		"no directory":  {},
		"negative sync": {StoreDir: t.TempDir(), SyncInterval: -1},
		"bad address":   {StoreDir: t.TempDir(), ListenAddr: "nowhere"},
		"bad port":      {StoreDir: t.TempDir(), ListenAddr: "127.0.0.1:99999", Insecure: true},
		"unnamed member": {StoreDir: t.TempDir(), Cluster: &embeddednats.Cluster{Name: "c", Listen: "127.0.0.1:0",
			Routes: []string{"127.0.0.1:1"}}},
		"cluster of none": {StoreDir: t.TempDir(), Name: "a",
			Cluster: &embeddednats.Cluster{Name: "c", Listen: "127.0.0.1:0"}},
		"reserved user":    {StoreDir: t.TempDir(), Users: []embeddednats.User{{Name: "pawl"}}},
		"directory a file": {StoreDir: file(t)},
	} {
		if s, err := embeddednats.Start(t.Context(), cfg); err == nil {
			s.Shutdown()
			t.Errorf("%s: accepted", name)
		}
	}
}

func file(t *testing.T) string {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return f.Name()
}
