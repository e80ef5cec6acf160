package cluster

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/engine/connector"
)

// onOneServer makes a cluster of engines on one server.
func onOneServer(t *testing.T) *cluster {
	s := natstest.NewServer(t, natstest.Fast)
	return newCluster(t, func(int) *nats.Conn {
		return natstest.Connect(t, s, nats.ReconnectBufSize(-1))
	})
}

// load pushes so many orders to each workflow at once, through the given engines in turn, and calls halfway once.
func (c *cluster) load(workflows, orders int, halfway func(), through ...*node) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	defer cancel()
	var pushed atomic.Int64
	var once sync.Once
	var all sync.WaitGroup
	for w := range workflows {
		all.Go(func() {
			for i := range orders {
				if err := c.push(ctx, name(w), fmt.Sprintf("%s-%d", name(w), i), through...); err != nil {
					c.t.Errorf("push to %s: %v", name(w), err)
					return
				}
				if pushed.Add(1) == int64(workflows*orders/2) {
					once.Do(halfway)
				}
			}
		})
	}
	all.Wait()
}

// One of two engines ends without a word, with calls under way: the other takes its partitions over, finds out about
// those calls, and goes on. No order is sent twice and none is lost.
func TestAKilledEngineIsReplaced(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: a lease is waited for, up to 25 s")
	}
	t.Parallel()
	const workflows, each = 8, 12
	c := onOneServer(t)
	a, b := c.start("a", 0), c.start("b", 0)
	c.until(20*time.Second, "each owns two partitions", func() bool { return a.owns() == 2 && b.owns() == 2 })
	a.deploy(workflows)
	var slow atomic.Bool
	underWay, killed := make(chan struct{}, workflows*each), make(chan struct{})
	c.world.OnPerform(func(_ context.Context, call connector.Call) connector.Outcome {
		if slow.Load() { // its answer comes when an engine is gone, perhaps its own
			underWay <- struct{}{}
			<-killed
		}
		return c.world.Apply(call)
	})
	c.load(workflows, each, func() {
		slow.Store(true)
		<-underWay
		<-underWay
		a.kill()
		close(killed)
	}, b, a)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for w := range workflows {
		c.awaitSent(ctx, b.log, name(w), each)
	}
	c.wantOnce(workflows * each)
	b.wantSame(workflows)
	c.until(10*time.Second, "the survivor owns all", func() bool { return b.owns() == c.partitions })
}

// An engine that joins is given its share, and one that ends hands over what it has; all the while orders go on, and
// none waits for long.
func TestEnginesComeAndGo(t *testing.T) {
	t.Parallel()
	const workflows, each = 8, 12
	c := onOneServer(t)
	a := c.start("a", 0)
	c.until(20*time.Second, "the first owns all", func() bool { return a.owns() == c.partitions })
	a.deploy(workflows)
	var b *node
	joined := make(chan struct{})
	c.load(workflows, each, func() {
		b = c.start("b", 0)
		close(joined)
	}, a)
	<-joined
	c.until(20*time.Second, "each owns two partitions", func() bool { return a.owns() == 2 && b.owns() == 2 })
	b.wantSame(workflows)
	began := time.Now()
	if err := a.Stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	c.until(10*time.Second, "the other owns all", func() bool { return b.owns() == c.partitions })
	t.Logf("a planned hand-over took %s", time.Since(began))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for w := range workflows {
		if err := c.push(ctx, name(w), fmt.Sprintf("%s-last", name(w)), b); err != nil {
			t.Fatal(err)
		}
		c.awaitSent(ctx, b.log, name(w), each+1)
	}
	c.wantOnce(workflows * (each + 1))
}
