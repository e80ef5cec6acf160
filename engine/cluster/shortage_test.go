package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/engine/lease"
	"github.com/pawl-run/pawl/engine/simulation/network"
	"github.com/pawl-run/pawl/eventlog/memlog"
)

// disk is the disk of a node, with enough space or too little.
type disk struct{ short atomic.Bool }

var errShort = errors.New("too little space is free")

// check says why no new work may start.
func (d *disk) check() error {
	if d.short.Load() {
		return errShort
	}
	return nil
}

// draining counts the partitions that the engine is about to hand over.
func (n *node) draining() (count int) {
	for _, p := range n.Partitions() {
		if p.Draining {
			count++
		}
	}
	return count
}

// The disk of one of two nodes has too little space for new work. It gives its partitions to the other node
// once its calls that are under way have ended. What is pushed is handled. Once it has space again, it takes its share.
func TestANodeWithLittleSpaceHandsOver(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: hand-overs take real seconds")
	}
	t.Parallel()
	const workflows, each = 8, 4
	c := onOneServer(t)
	var little disk
	a := c.start("a", 0, func(cfg *engine.Config) { cfg.DiskSpace = little.check })
	b := c.start("b", 0)
	c.until(20*time.Second, "each owns two partitions", func() bool { return a.owns() == 2 && b.owns() == 2 })
	a.deploy(workflows)
	underWay, goOn := make(chan struct{}, workflows*each), make(chan struct{})
	c.world.OnPerform(func(_ context.Context, call connector.Call) connector.Outcome {
		underWay <- struct{}{}
		<-goOn
		return c.world.Apply(call)
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for w := range workflows {
		if err := c.push(ctx, name(w), fmt.Sprintf("%s-0", name(w)), a, b); err != nil {
			t.Fatal(err)
		}
	}
	for range workflows {
		<-underWay
	}
	little.short.Store(true)
	c.until(20*time.Second, "it says that it hands over", func() bool { // what has no call under way it hands over at once
		return b.leases.Nodes()["a"].Lacks == lease.LacksDiskSpace && a.draining() == a.owns()
	})
	close(goOn)
	c.until(20*time.Second, "the other one owns all", func() bool { return b.owns() == c.partitions })
	for w := range workflows {
		for i := 1; i < each; i++ {
			if err := c.push(ctx, name(w), fmt.Sprintf("%s-%d", name(w), i), a, b); err != nil {
				t.Fatal(err)
			}
		}
		c.awaitSent(ctx, b.log, name(w), each)
	}
	little.short.Store(false)
	c.until(20*time.Second, "each owns two partitions again", func() bool { return a.owns() == 2 && b.owns() == 2 })
	c.wantOnce(workflows * each)
	a.wantSame(workflows)
	b.wantSame(workflows)
}

// Two engines have too little space. The owner of the partition keeps it and begins nothing, and the other engine says
// so. Once the other engine has space again, it takes the partition.
func TestANodeWithLittleSpaceKeepsWhatNoOtherCanTake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		between, log := network.New(15*time.Second), memlog.New(memlog.Config{})
		var disks [2]disk
		a, _ := startWith(t, between, 1, log, nil, func(c *engine.Config) { c.DiskSpace = disks[0].check })
		if result, err := a.Deploy(t.Context(), enginetest.Tester, ordersOf("w")); err != nil || result.Refused {
			t.Fatalf("deploy: %v, %+v", err, result.Problems)
		}
		b, _ := startWith(t, between, 2, log, nil, func(c *engine.Config) { c.DiskSpace = disks[1].check })
		operate := func(cmd decide.Command) {
			t.Helper()
			if err := b.Operate(t.Context(), enginetest.Tester, "w", cmd, "test"); err != nil {
				t.Errorf("%T: %v", cmd, err)
			}
		}
		operate(decide.Pause{})
		if _, err := b.Push(t.Context(), enginetest.Tester, "w", "in",
			[]decide.PushItem{{MessageID: "order", Title: "Order", Payload: json.RawMessage(`{}`)}}); err != nil {
			t.Fatal(err)
		}
		disks[0].short.Store(true)
		disks[1].short.Store(true)
		<-time.After(30 * time.Second) // in the time of the bubble
		if p := a.Partitions()[0]; !p.Owned || p.Taken != 1 {
			t.Errorf("its partition is %+v", p)
		}
		operate(decide.Resume{})
		<-time.After(time.Second)
		if why, _ := b.Why("w"); why == nil || why.Reason != decide.ReasonStorage {
			t.Errorf("the other one says %+v", why)
		}
		disks[1].short.Store(false)
		<-time.After(75 * time.Second)
		if !b.Partitions()[0].Owned || a.Partitions()[0].Owned {
			t.Error("the one with space does not own the partition")
		}
		if why, _ := b.Why("w"); why != nil && why.Reason == decide.ReasonStorage {
			t.Errorf("and says %+v", why)
		}
		between.Close()
		<-time.After(time.Second) // what the compiler of scripts has begun ends
	})
}
