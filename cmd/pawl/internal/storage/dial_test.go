package storage

import (
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// startServer starts a server with JetStream on a port of its own.
func startServer(t *testing.T) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(),
		NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server is not ready")
	}
	return s
}

// A server through which JetStream answers no more, while its connections stand, is left for another one.
func TestACutOffServerIsLeft(t *testing.T) {
	t.Parallel()
	first, second := startServer(t), startServer(t)
	moved := make(chan string, 10)
	nc, err := nats.Connect(first.ClientURL()+","+second.ClientURL(), nats.DontRandomize(),
		nats.ReconnectHandler(func(nc *nats.Conn) { moved <- nc.ConnectedUrl() }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	answered := make(chan struct{}, 1)
	logger := slog.New(slog.NewTextHandler(t.Output(), nil))
	if err := leaveWhenCutOff(nc, logger, 200*time.Millisecond, func() {
		select {
		case answered <- struct{}{}:
		default:
		}
	}); err != nil {
		t.Fatal(err)
	}
	<-answered
	if err := first.DisableJetStream(); err != nil {
		t.Fatal(err)
	}
	if to := <-moved; to != second.ClientURL() {
		t.Errorf("the connection moved to %s, want %s", to, second.ClientURL())
	}
}
