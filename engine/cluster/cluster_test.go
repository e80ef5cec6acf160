package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/engine/lease"
	"github.com/pawl-run/pawl/engine/peer"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/eventlog/jslog/bucket"
)

// orders is a workflow that sends each order that is pushed.
const orders = `
export default Keep.workflow({
  name: "NAME",
  topics: { "in": {}, "sent": {} },
  consumers: {
    send: Keep.consumer({
      subscribe: ["in"],
      async prepare(ctx, state) {
        const [event] = await ctx.peek("in");
        if (!event) return { reservations: [], data: {} };
        return { reservations: [{ topic: "in", ids: [event.messageId] }], data: { order: event.messageId } };
      },
      async mutate(ctx, prepared) {
        await ctx.world.send({ order: prepared.data.order });
      },
      async next(ctx, prepared, result) {
        if (result.status === "applied") {
          await ctx.publish("sent", { messageId: prepared.data.order, title: "Sent", payload: {} });
        }
      },
    }),
  },
});
`

// cluster is a log with several partitions, and the engines on it.
type cluster struct {
	t          *testing.T
	partitions int
	replicas   int
	renew      time.Duration
	connect    func(node int) *nats.Conn
	holds      bool                            // the log keeps its format until it is raised
	leases     func(lease.Bucket) lease.Bucket // what an engine reaches of the leases
	world      *enginetest.World
	logs       enginetest.LogCapture
}

// node is one engine with its own connections, store and view of the log.
type node struct {
	*enginetest.Engine
	cluster *cluster
	name    string
	log     *jslog.Log
	leases  *lease.Keeper
	conns   []*nats.Conn
	dead    atomic.Bool
}

func newCluster(t *testing.T, connect func(int) *nats.Conn) *cluster {
	c := &cluster{t: t, partitions: 4, replicas: 1, renew: 200 * time.Millisecond, connect: connect,
		leases: func(b lease.Bucket) lease.Bucket { return b },
		world: enginetest.NewWorld("world").Offer(
			connector.Operation{Name: "send", Kind: connector.Mutate, Reconciles: true, Timeout: 2 * time.Second})}
	c.world.Ending = connector.Ending{Quiet: time.Millisecond, Unseen: time.Millisecond}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.logs.String())
		}
	})
	return c
}

// start starts an engine whose connections go to the server of that number.
func (c *cluster) start(name string, server int, changes ...func(*engine.Config)) *node {
	c.t.Helper()
	n := &node{cluster: c, name: name}
	dial := func() *nats.Conn {
		nc := c.connect(server)
		n.conns = append(n.conns, nc)
		return nc
	}
	log, err := jslog.Open(c.t.Context(), dial(), jslog.Config{Partitions: c.partitions, Replicas: c.replicas,
		HoldFormat: c.holds})
	if err != nil {
		c.t.Fatal(err)
	}
	n.log = log
	c.t.Cleanup(func() { _ = log.Close() })
	js, err := jetstream.New(dial())
	if err != nil {
		c.t.Fatal(err)
	}
	leases, err := bucket.Create(c.t.Context(), js, "PAWL_LEASES", c.replicas)
	if err != nil {
		c.t.Fatal(err)
	}
	n.leases, err = lease.New(lease.Config{Bucket: c.leases(leases), Partitions: c.partitions, Node: name,
		URL: "http://" + name, Renew: c.renew, Logger: c.logs.Logger().With("node", name)})
	if err != nil {
		c.t.Fatal(err)
	}
	h := enginetest.NewOn(c.t, log)
	h.World, h.Logger = c.world, c.logs.Logger().With("node", name)
	h.Config = engine.Config{Leases: n.leases, Peers: peer.New(dial(), ""), DrainTimeout: 5 * time.Second,
		SettleTimeout: 5 * time.Second}
	for _, change := range changes {
		change(&h.Config)
	}
	n.Engine = h.Start()
	return n
}

// kill ends the engine's ways to all others at once: it says no word more.
func (n *node) kill() {
	n.dead.Store(true)
	for _, nc := range n.conns {
		nc.Close()
	}
}

// cutOffLeases ends the engine's way to the leases; it still reaches the log.
func (n *node) cutOffLeases() { n.conns[leasesConn].Close() }

// leasesConn is the connection of the leases: the log's is before it, that of the peers behind.
const leasesConn = 1

// owns counts the partitions that the engine owns.
func (n *node) owns() (count int) {
	for _, p := range n.Partitions() {
		if p.Owned {
			count++
		}
	}
	return count
}

// until waits for something that no engine tells of.
func (c *cluster) until(within time.Duration, what string, holds func() bool) {
	c.t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for end := time.Now().Add(within); !holds(); <-ticker.C {
		if time.Now().After(end) {
			c.t.Fatalf("after %s it does not hold yet that %s", within, what)
		}
	}
}

func name(i int) eventlog.WorkflowName { return eventlog.WorkflowName(fmt.Sprintf("w%d", i)) }

// deploy deploys so many workflows through the engine.
func (n *node) deploy(workflows int) {
	n.cluster.t.Helper()
	for i := range workflows {
		result, err := n.Deploy(n.cluster.t.Context(), enginetest.Tester, engine.DeployRequest{
			Source: strings.Replace(orders, "NAME", string(name(i)), 1), Filename: "w.js", GrantUsed: true,
		})
		if err != nil || result.Refused {
			n.cluster.t.Fatalf("deploy %s through %s: %v, %+v", name(i), n.name, err, result.Problems)
		}
		if result.Workflow != name(i) || result.Version != "1.0" || !result.Created {
			n.cluster.t.Fatalf("deploy of %s through %s answers %+v", name(i), n.name, result)
		}
	}
}

// push pushes an order until it is acknowledged, by whichever engine still answers.
func (c *cluster) push(ctx context.Context, workflow eventlog.WorkflowName, id string, through ...*node) error {
	for i := 0; ctx.Err() == nil; i++ {
		n := through[i%len(through)]
		if n.dead.Load() {
			continue
		}
		_, err := n.Push(ctx, enginetest.Tester, workflow, "in",
			[]decide.PushItem{{MessageID: eventlog.MessageID(id), Title: id, Payload: json.RawMessage(`{}`)}})
		if err == nil || !errors.Is(err, engine.ErrUnavailable) {
			return err
		}
	}
	return ctx.Err()
}

// awaitSent waits until the log says of so many orders of the workflow that they were sent.
func (c *cluster) awaitSent(ctx context.Context, log *jslog.Log, workflow eventlog.WorkflowName, orders int) {
	c.t.Helper()
	sent := map[eventlog.MessageID]bool{}
	for r, err := range log.Watch(ctx, log.PartitionOf(workflow), 1) {
		if err != nil {
			c.t.Fatal(err)
		}
		if r.Workflow != workflow {
			continue
		}
		for _, f := range r.Facts {
			if f, ok := f.(*eventlog.EventPublished); ok && f.Topic == "sent" {
				sent[f.MessageID] = true
			}
		}
		if len(sent) == orders {
			return
		}
	}
	c.t.Fatalf("%d of %d orders of %s are sent", len(sent), orders, workflow)
}

// wantOnce holds that each order had its effect, and once.
func (c *cluster) wantOnce(orders int) {
	c.t.Helper()
	if twice := c.world.Twice(); len(twice) > 0 {
		c.t.Errorf("calls with one key have had two effects: %v", twice)
	}
	count := map[string]int{}
	for _, params := range c.world.Params() {
		var p struct{ Order string }
		if err := json.Unmarshal(params, &p); err != nil {
			c.t.Fatal(err)
		}
		if count[p.Order]++; count[p.Order] > 1 {
			c.t.Errorf("order %s was sent %d times", p.Order, count[p.Order])
		}
	}
	if len(count) != orders {
		c.t.Errorf("%d orders were sent, want %d", len(count), orders)
	}
}

// wantSame holds that the engine has read what the others have, and holds the same.
func (n *node) wantSame(workflows int) {
	t := n.cluster.t
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	h := enginetest.Harness{TB: t, Log: n.log}
	for i := range workflows {
		full := h.FullFold(name(i))
		at := eventlog.Position{Partition: n.log.PartitionOf(name(i)), Seq: full.Head.Seq}
		if err := n.AwaitPositions(ctx, at); err != nil {
			t.Errorf("%s: %v", n.name, err)
		}
		s, ok := n.State(name(i))
		if !ok || s.Head.Revision < full.Head.Revision || s.Head.Revision == full.Head.Revision && s.Head != full.Head {
			t.Errorf("%s holds %s at %+v, the log has %+v", n.name, name(i), s.Head, full.Head)
		}
	}
}
