package cluster

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/engine/lease"
	"github.com/pawl-run/pawl/engine/simulation/network"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
)

// An engine is given a partition and makes no progress in reading it. It gives the lease back and says that it lacks
// something, so that the next engine takes the partition. An engine that is slow but makes progress keeps it.
func TestAPartitionThatIsNotReadIsGivenBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		by    time.Duration // between two records that the second engine reads
		lacks lease.Shortage
	}{
		"nothing is read": {time.Hour, lease.LacksRecords},
		"it is slow":      {50 * time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				between, log := network.New(15*time.Second), memlog.New(memlog.Config{})
				a, _ := startWith(t, between, 1, log, nil)
				<-time.After(10 * time.Second) // in the time of the bubble: it owns the partition
				b, _ := startWith(t, between, 2, late{log, c.by}, nil)
				<-time.After(10 * time.Second)
				for _, workflow := range []string{"v", "w", "x"} {
					if result, err := a.Deploy(t.Context(), enginetest.Tester, ordersOf(workflow)); err != nil || result.Refused {
						t.Fatalf("deploy: %v, %+v", err, result.Problems)
					}
				}
				if err := a.Stop(); err != nil {
					t.Fatal(err)
				}
				third, _ := startWith(t, between, 3, log, nil)
				<-time.After(50 * time.Second)
				if owner := third.Partitions()[0].Owner; owner.Node != "n2" {
					t.Fatalf("the second engine has not taken the partition: %+v", owner)
				}
				<-time.After(10 * time.Minute)
				if lacks := third.Nodes()["n2"].Lacks; lacks != c.lacks {
					t.Errorf("it says that it lacks %q, want %q", lacks, c.lacks)
				}
				if epoch := third.Partitions()[0].Owner.Epoch; c.lacks == "" && epoch != 2 {
					t.Errorf("it has given the partition back while it made progress: the epoch is %d", epoch)
				}
				if stalls := c.lacks != ""; third.Partitions()[0].Owned != stalls || b.Partitions()[0].Owned == stalls {
					t.Errorf("the partition is %+v at the third, %+v at the second", third.Partitions()[0], b.Partitions()[0])
				}
				between.Close()
				<-time.After(time.Second) // what the compiler of scripts has begun ends
			})
		})
	}
}

// slow answers once, after a long time, what stands at a place.
type slow struct {
	*memlog.Log
	times *atomic.Int64
}

func (l slow) CheckPlace(ctx context.Context, p int, seq uint64, hash eventlog.Hash) error {
	if l.times.Add(1) == 1 {
		select {
		case <-time.After(2 * time.Minute):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return l.Log.CheckPlace(ctx, p, seq, hash)
}

// An engine has given a partition back since it made no progress in reading it, and is given it again, since there is
// no other one. Once it owns the partition it lacks nothing.
func TestAnEngineThatOwnsAPartitionHasReadIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		between, log := network.New(15*time.Second), memlog.New(memlog.Config{})
		a, _ := startWith(t, between, 1, log, nil)
		<-time.After(10 * time.Second) // in the time of the bubble: it owns the partition
		b, _ := startWith(t, between, 2, slow{log, new(atomic.Int64)}, nil)
		if result, err := a.Deploy(t.Context(), enginetest.Tester, ordersOf("w")); err != nil || result.Refused {
			t.Fatalf("deploy: %v, %+v", err, result.Problems)
		}
		<-time.After(10 * time.Second)
		if err := a.Stop(); err != nil {
			t.Fatal(err)
		}
		<-time.After(5 * time.Minute)
		if p := b.Partitions()[0]; !p.Owned || p.Owner.Epoch < 3 {
			t.Errorf("the partition is %+v", p)
		}
		if lacks := b.Lacks(); lacks != "" {
			t.Errorf("it lacks %s", lacks)
		}
		between.Close()
		<-time.After(time.Second) // what the compiler of scripts has begun ends
	})
}
