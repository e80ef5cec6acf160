package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/engine/lease"
	"github.com/pawl-run/pawl/engine/simulation/network"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/eventlog/memlog"
)

// raise has the log say that it has a newer format than this version reads, as pawl cluster upgrade of a newer pawl
// does.
func (c *cluster) raise(js jetstream.JetStream) { c.setFormat(js, eventlog.FormatVersion+1) }

// setFormat has the log say that it has the format.
func (c *cluster) setFormat(js jetstream.JetStream, format int) {
	for p := range c.partitions {
		s, err := js.Stream(c.t.Context(), jslog.StreamName("", p))
		if err == nil {
			config := s.CachedInfo().Config
			config.Metadata["pawl.format"] = strconv.Itoa(format)
			_, err = js.UpdateStream(c.t.Context(), config)
		}
		if err != nil {
			c.t.Fatal(err)
		}
	}
}

// jetStream is another program's way to the log.
func (c *cluster) jetStream() jetstream.JetStream {
	js, err := jetstream.New(c.connect(0))
	if err != nil {
		c.t.Fatal(err)
	}
	return js
}

// raisedWhenTaken raises the format right before an engine writes that it takes its first partition.
type raisedWhenTaken struct {
	lease.Bucket
	raise func() // once; several partitions are taken at the same time
}

func (b *raisedWhenTaken) Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if strings.HasPrefix(key, "partition.") {
		b.raise()
	}
	return b.Bucket.Put(ctx, key, value, revision)
}

// wantOutdated waits until the engine says that the log is too new for it, and has given everything back.
func (n *node) wantOutdated() {
	c := n.cluster
	c.t.Helper()
	c.until(20*time.Second, "it says that the log is too new, and owns nothing", func() bool {
		self := n.leases.Nodes()[n.name]
		held := false
		for p := range c.partitions {
			if owner, ok := n.leases.Holder(p); ok && owner.Node == n.name {
				held = true
			}
		}
		return errors.Is(n.Outdated(), eventlog.ErrNewerFormat) && self.Outdated && self.Leaving && n.owns() == 0 && !held
	})
	if !strings.Contains(c.logs.String(), "gives its partitions to the others and takes no more") {
		c.t.Error("its log does not say so")
	}
	if len(n.Stopped()) > 0 {
		c.t.Errorf("it takes what it does not read for damage: %v", n.Stopped())
	}
}

// The format is raised between an engine's last look at it and the lease: the engine gives the lease back before it
// works, and takes no other one.
func TestAnEngineDoesNotWorkOnANewerLog(t *testing.T) {
	t.Parallel()
	c := onOneServer(t)
	other := c.jetStream()
	c.leases = func(b lease.Bucket) lease.Bucket {
		return &raisedWhenTaken{b, sync.OnceFunc(func() { c.raise(other) })}
	}
	a := c.start("a", 0)
	a.wantOutdated()
	renewal := a.leases.Nodes()["a"].Renewal
	c.until(20*time.Second, "it goes on to say that it is there", func() bool {
		return a.leases.Nodes()["a"].Renewal >= renewal+5
	})
	for _, p := range a.Partitions() {
		if p.Owner.Epoch > 1 {
			t.Errorf("it has taken the lease of partition %d %d times", p.Number, p.Owner.Epoch)
		}
		if p.Taken != 0 {
			t.Errorf("it has worked on partition %d", p.Number)
		}
	}
}

// The format is raised while an engine works that was not counted. It hands over what it has, without a run that is cut
// off; what it cannot read is no damage to it.
func TestAnEngineLeavesALogThatBecomesNewer(t *testing.T) {
	t.Parallel()
	c := onOneServer(t)
	a, b := c.start("a", 0), c.start("b", 0)
	c.until(20*time.Second, "each owns two partitions", func() bool { return a.owns() == 2 && b.owns() == 2 })
	a.deploy(8)
	for i := range 8 {
		if err := c.push(t.Context(), name(i), string(name(i))+"-order", a, b); err != nil {
			t.Fatal(err)
		}
		c.awaitSent(t.Context(), a.log, name(i), 1)
	}
	c.raise(c.jetStream())
	for i := range 8 { // what a newer version has written, in a partition that the other one owns
		if s, _ := a.State(name(i)); !a.Partitions()[a.log.PartitionOf(name(i))].Owned {
			c.publishNewer(a.log, s.Name, s.Head)
		}
	}
	a.wantOutdated()
	b.wantOutdated()
	c.wantOnce(8)
}

// publishNewer writes a transition whose kind this version does not know.
func (c *cluster) publishNewer(log *jslog.Log, w eventlog.WorkflowName, head eventlog.Head) {
	f := &eventlog.WorkflowPaused{}
	e, err := eventlog.NewEntry(eventlog.Transition{ID: eventlog.TransitionID("newer-" + string(w)), Workflow: w, At: 1,
		Actor: eventlog.System, Kind: f.FactType(), Facts: []eventlog.Fact{f}}, head)
	if err == nil {
		stored := bytes.ReplaceAll(e.Stored, []byte(f.FactType()), []byte("workflow.rested"))
		_, err = c.jetStream().Publish(c.t.Context(), fmt.Sprintf("pawl.log.%d.%s.workflow.rested", log.PartitionOf(w), w),
			stored)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// A deploy that needs a newer format than the log has is refused by the engine that is asked, before it goes to the
// owner of the partition: one of an older version would leave out what it does not know, and take the rest.
func TestADeployOfANewerFormatReachesNoOwner(t *testing.T) {
	t.Parallel()
	c := onOneServer(t)
	c.holds = true
	a, b := c.start("a", 0), c.start("b", 0)
	c.until(20*time.Second, "each owns two partitions", func() bool { return a.owns() == 2 && b.owns() == 2 })
	c.setFormat(c.jetStream(), eventlog.FormatVersion-1)
	asked, err := c.connect(0).SubscribeSync("pawl.own.>")
	if err != nil {
		t.Fatal(err)
	}
	duties := strings.Replace(orders, "subscribe:", "approval: () => true, subscribe:", 1) // of the newest format
	for i := range 8 {
		result, err := a.Deploy(t.Context(), enginetest.Tester, engine.DeployRequest{
			Source: strings.Replace(duties, "NAME", string(name(i)), 1), Filename: "w.js", GrantUsed: true})
		if !errors.Is(err, eventlog.ErrHeldFormat) || !strings.Contains(err.Error(), "record on "+string(name(i))) {
			t.Errorf("%s, owned by a: %t: %v, %+v", name(i), a.Partitions()[a.log.PartitionOf(name(i))].Owned, err,
				result.Problems)
		}
	}
	a.deploy(1) // it needs none
	if n, _, err := asked.Pending(); err != nil || n > 1 {
		t.Errorf("%d requests have gone to an owner, %v; want that of the last deploy at most", n, err)
	}
}

// newer is a log into which a newer version has written what this one does not read, once it is raised.
type newer struct {
	*memlog.Log
	raised atomic.Bool
}

func (n *newer) Last(ctx context.Context, p int) (uint64, error) {
	if n.raised.Load() {
		return 0, eventlog.ErrNewerFormat
	}
	return n.Log.Last(ctx, p)
}

func (n *newer) ReadWorkflow(ctx context.Context, w eventlog.WorkflowName, from uint64) iter.Seq2[eventlog.Record,
	error] {
	return func(yield func(eventlog.Record, error) bool) {
		for r, err := range n.Log.ReadWorkflow(ctx, w, from) {
			if err == nil && n.raised.Load() {
				err = eventlog.ErrUnreadable
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// What an owner cannot read of a workflow, because another engine has written it on a newer log, is no damage of the
// workflow: the engine leaves its partitions.
func TestAnOwnerTakesNothingNewerForDamage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		between, log := network.New(15*time.Second), &newer{Log: memlog.New(memlog.Config{})}
		a, _ := startWith(t, between, 1, log, nil)
		if result, err := a.Deploy(t.Context(), enginetest.Tester, ordersOf("w")); err != nil || result.Refused {
			t.Fatalf("deploy: %v, %+v", err, result.Problems)
		}
		<-time.After(10 * time.Second) // in the time of the bubble: what follows on the deploy is recorded
		s, _ := a.State("w")
		f := &eventlog.WorkflowPaused{}
		e, err := eventlog.NewEntry(eventlog.Transition{ID: "newer", Workflow: "w", At: 1, Actor: eventlog.System,
			Kind: f.FactType(), Facts: []eventlog.Fact{f}}, s.Head)
		if err == nil {
			_, err = log.Log.Append(t.Context(), e)
		}
		if err != nil {
			t.Fatal(err)
		}
		log.raised.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := a.Operate(ctx, enginetest.Tester, "w", decide.Pause{}, "pause"); !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("what follows on it: %v", err)
		}
		<-time.After(10 * time.Second) // in the time of the bubble
		if !errors.Is(a.Outdated(), eventlog.ErrNewerFormat) || len(a.Stopped()) > 0 {
			t.Errorf("the engine says %v, and stopped are %v", a.Outdated(), a.Stopped())
		}
		between.Close()
		<-time.After(time.Second) // what the compiler of scripts has begun ends
	})
}
