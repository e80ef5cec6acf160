package cluster

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/embeddednats/natstest"
)

// Three engines, each with a server of its own that form a cluster: server and engine of one node end, and the others
// go on. No order is sent twice and none that was acknowledged is lost.
func TestANodeOfThreeEnds(t *testing.T) {
	t.Parallel()
	const workflows, each = 8, 10
	servers := natstest.NewCluster(t, 3, natstest.Fast)
	var dialling sync.Mutex
	c := newCluster(t, func(server int) *nats.Conn {
		dialling.Lock()
		defer dialling.Unlock()
		return servers.Connect(server, nats.ReconnectBufSize(-1), nats.MaxReconnects(-1))
	})
	c.replicas, c.renew = 3, 2*time.Second
	a, b, d := c.start("a", 0), c.start("b", 1), c.start("d", 2)
	c.until(2*time.Minute, "all partitions have an owner, and each engine one at least", func() bool {
		return a.owns()+b.owns()+d.owns() == c.partitions && a.owns() > 0 && b.owns() > 0 && d.owns() > 0
	})
	b.deploy(workflows)
	var ended time.Time
	c.load(workflows, each, func() {
		ended = time.Now()
		a.kill()
		servers.Stop(0)
	}, b, d, a)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for w := range workflows {
		c.awaitSent(ctx, b.log, name(w), each)
	}
	t.Logf("all orders were sent %s after the node ended", time.Since(ended))
	c.wantOnce(workflows * each)
	b.wantSame(workflows)
	d.wantSame(workflows)
	for w := range workflows {
		if err := c.push(ctx, name(w), fmt.Sprintf("%s-last", name(w)), d); err != nil {
			t.Error(err)
		}
	}
}
