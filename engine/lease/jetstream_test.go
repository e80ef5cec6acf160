package lease_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/engine/lease"
	"github.com/pawl-run/pawl/eventlog/jslog/bucket"
)

// An engine takes a partition in JetStream; what it gives back another one takes at once.
func TestKeepersInJetStream(t *testing.T) {
	t.Parallel()
	js, err := jetstream.New(natstest.Connect(t, natstest.NewServer(t, natstest.Fast)))
	if err != nil {
		t.Fatal(err)
	}
	b, err := bucket.Create(t.Context(), js, "PAWL_LEASES", 1)
	if err != nil {
		t.Fatal(err)
	}
	start := func(node string) (*lease.Keeper, func()) {
		k, err := lease.New(lease.Config{Bucket: b, Partitions: 1, Engine: node + "-1", Node: node, URL: "nats://" + node,
			Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- k.Run(ctx, func() lease.Shortage { return "" }) }()
		return k, func() {
			end()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
	a, endA := start("a")
	first, err := a.Acquire(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	c, endC := start("c")
	defer endC()
	taken := make(chan *lease.Lease)
	go func() {
		l, err := c.Acquire(t.Context(), 0)
		if err != nil {
			t.Error(err)
		}
		taken <- l
	}()
	select {
	case <-taken:
		t.Fatal("two engines hold the partition")
	case <-first.Ending():
		t.Fatal("the lease has ended")
	default:
	}
	a.Leave()
	if err := first.GiveBack(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := <-taken
	if !second.Holds() || first.Holds() || second.Epoch() != first.Epoch()+1 {
		t.Errorf("the second holds: %t, the first: %t, epochs %d and %d", second.Holds(), first.Holds(), second.Epoch(),
			first.Epoch())
	}
	if owner := c.Owner(0); owner.Node != "c" || owner.URL != "nats://c" {
		t.Errorf("owner %+v", owner)
	}
	endA()
	if err := second.GiveBack(t.Context()); err != nil {
		t.Fatal(err)
	}
}
