package jslog_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog/jslog"
)

// TestALogFullOfConsumers: however many consumers others have left at the log's streams, the log opens, is read,
// and its losses can be accepted. NATS itself allows 1000 of them for each stream.
func TestALogFullOfConsumers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fill(30, 100)
	server := natstest.NewServer(t, natstest.InDir(s.dir), natstest.Fast)
	nc := natstest.Connect(t, server)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		c := jetstream.ConsumerConfig{Durable: fmt.Sprintf("c%d", i), InactiveThreshold: 24 * time.Hour, MemoryStorage: true}
		if _, err := js.CreateConsumer(t.Context(), "PAWL_LOG_0", c); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := jslog.AcceptLoss(t.Context(), nc, s.config()); err != nil {
		t.Fatalf("accept a loss: %v", err)
	}
	l := mustOpen(t, nc, s.config())
	n := 0
	for _, err := range l.Read(t.Context(), 0, 1) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 30 {
		t.Errorf("%d transitions are read", n)
	}
	s.append(l, 1, 100) // it reads the workflow first, which has many
}
