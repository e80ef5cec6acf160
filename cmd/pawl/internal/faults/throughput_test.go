//go:build unix

package faults

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"
)

var throughput = flag.Duration("faults.throughput", 0, "how long each form is measured; 0 leaves the measure out")

// One node, three nodes whose streams have one copy, and three nodes whose streams have three do the same work: each of
// 64 workflows gets its next order when the last one has arrived. The log says what each form brings a second, and how
// much processor time an order costs all nodes together.
func TestThroughput(t *testing.T) {
	if *throughput == 0 {
		t.Skip("a measure needs a machine that does nothing else: -faults.throughput 20s")
	}
	for _, form := range []struct{ nodes, replicas int }{{1, 1}, {3, 1}, {3, 3}} {
		t.Run(fmt.Sprintf("%d nodes, %d copies", form.nodes, form.replicas), func(t *testing.T) {
			c := newClusterOf(t, form.nodes, func(n *nodeConfig) { n.Replicas = form.replicas })
			c.deploy(workflows)
			ctx, stop := context.WithCancel(t.Context())
			l := &load{cluster: c, stop: stop}
			for w := range workflows {
				l.all.Go(func() {
					for i := 0; ctx.Err() == nil; i++ {
						order := fmt.Sprintf("%s-%d", workflow(w), i)
						l.push(ctx, w, order)
						c.sink.await(ctx, order)
					}
				})
			}
			c.working(time.Now())
			before, wrote, spent := c.sink.count(), c.wrote(), c.spent()
			began := time.Now()
			<-time.After(*throughput)
			took, orders, cost := time.Since(began), float64(c.sink.count()-before), c.spent()-spent
			t.Logf("%.0f orders a second, %.2f transitions and %.2f ms of processor time each", orders/took.Seconds(),
				float64(c.wrote()-wrote)/orders, cost.Seconds()*1000/orders)
			l.finish()
		})
	}
}

// wrote is how many transitions the log holds.
func (c *cluster) wrote() uint64 {
	c.t.Helper()
	s, err := c.nodes[0].status("all")
	if err != nil {
		c.t.Fatal(err)
	}
	return s.Transitions
}

// spent is the processor time of all nodes.
func (c *cluster) spent() (all time.Duration) {
	c.t.Helper()
	for _, n := range c.nodes {
		text, err := n.ask(c.t.Context(), http.MethodGet, "/spent", "")
		if err != nil {
			c.t.Fatal(err)
		}
		nanoseconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			c.t.Fatal(err)
		}
		all += time.Duration(nanoseconds)
	}
	return all
}
