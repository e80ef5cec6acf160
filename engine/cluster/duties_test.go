package cluster

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/engine/simulation/network"
	"github.com/pawl-run/pawl/eventlog/memlog"
)

// One engine does what one does for all: it hands that over with its lease, and what it is slow to end another begins
// later. Where its lease is lost, it ends it with the lease.
func TestDutiesAreDoneByOneEngine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		between, log := network.New(15*time.Second), memlog.New(memlog.Config{})
		var at, times, most atomic.Int32
		duties := func(ctx context.Context) {
			times.Add(1)
			most.Store(max(most.Load(), at.Add(1)))
			<-ctx.Done()
			<-time.After(2 * time.Second) // in the time of the bubble: it ends slowly
			at.Add(-1)
		}
		a, _ := startWith(t, between, 1, log, duties)
		<-time.After(5 * time.Second)
		b, link := startWith(t, between, 2, log, duties)
		<-time.After(30 * time.Second)
		if err := a.Stop(); err != nil {
			t.Fatal(err)
		}
		<-time.After(10 * time.Second)
		if times.Load() != 2 || at.Load() != 1 || !b.Partitions()[0].Owned {
			t.Errorf("duties began %d times, and are done by %d engines", times.Load(), at.Load())
		}
		link.Cut(network.ToLeases, true)
		c, _ := startWith(t, between, 3, log, duties)
		<-time.After(60 * time.Second)
		if times.Load() != 3 || at.Load() != 1 || !c.Partitions()[0].Owned || most.Load() != 1 {
			t.Errorf("duties began %d times, and are done by %d engines, %d at most", times.Load(), at.Load(), most.Load())
		}
		link.Cut(network.ToLeases, false)
	})
}
