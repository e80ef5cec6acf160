package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/lease"
	"github.com/pawl-run/pawl/engine/simulation/network"
	"github.com/pawl-run/pawl/eventlog"
)

// sharing is what the engines of a seed have that share the partitions by leases.
type sharing struct {
	net *network.Network
	mu  sync.Mutex
	// clients is what clients know: how far each workflow was, from answers and from reads.
	clients map[eventlog.WorkflowName]eventlog.Position
	// epochs are those in which mutations were started, by key.
	epochs map[string]uint64
	// stepped: a clock was set in this history. offsets are by how much the writers' clocks were ahead, by transition.
	stepped bool
	offsets sync.Map
}

// holdFor is how long an engine holds a lease after it sent a renewal (design: leases).
const holdFor = 15 * time.Second

func newSharing() *sharing {
	return &sharing{net: network.New(holdFor), clients: map[eventlog.WorkflowName]eventlog.Position{},
		epochs: map[string]uint64{}}
}

// breath is how much time passes with each move; a message between engines takes a part of it.
const breath = 5 * time.Millisecond

// breathe lets messages between the engines arrive.
func (s *sim) breathe() {
	if s.sharing == nil {
		return
	}
	s.clock.to(s.clock.Now().Add(breath))
	time.Sleep(breath)
	s.cfg.AwaitBlocked()
	if bad := s.sharing.net.Bad(); bad != "" {
		s.violate("%s", bad)
	}
}

// reachedBy is the log as the node reaches it.
func (s *sim) reachedBy(n *node) eventlog.Log {
	if s.sharing == nil {
		return s.below
	}
	n.link = s.sharing.net.Join(n.number)
	return network.Log{Log: s.below, Link: n.link}
}

// join gives the node its way to the others, and its engine the leases.
func (s *sim) join(n *node, cfg *engine.Config) error {
	if s.sharing == nil {
		return nil
	}
	name := fmt.Sprintf("E%d", n.number)
	n.name.Store(&name)
	keep := lease.Config{Bucket: n.link, Partitions: s.memory.Partitions(), Engine: name,
		Node: fmt.Sprintf("n%d", n.number), Elapsed: n.link.Elapsed, Logger: slog.New(slog.DiscardHandler)}
	cfg.Peers = n.link
	if s.cfg.Leases != nil {
		keep = s.cfg.Leases(keep)
	}
	if s.cfg.Peers != nil {
		cfg.Peers = s.cfg.Peers(n.link)
	}
	var err error
	cfg.Leases, err = lease.New(keep)
	return err
}

// partition is what the engine of the node knows of the workflow's partition.
func (s *sim) partition(n *node, w eventlog.WorkflowName) engine.Partition {
	return n.engine.Partitions()[s.memory.PartitionOf(w)]
}

// working reports whether the engine of the node owns the workflow's partition, and may begin something there.
func (s *sim) working(n *node, w eventlog.WorkflowName) bool {
	if s.sharing == nil {
		return true
	}
	p := s.partition(n, w)
	return p.Owned && !p.Draining
}

// keptBack asks what a connector asks right before the first byte of a request. Without leases nothing happens between
// that and the engine's own look.
func (s *sim) keptBack(o *op) *eventlog.Failure {
	if s.sharing == nil || o.call.Gate == nil {
		return nil
	}
	failure := o.call.Gate()
	if failure != nil {
		s.did("kept from leaving")
	}
	return failure
}

// noticing ends when the process notices that ctx has ended: not while the process stands still, and after that only a
// moment later, so that it may do other things before.
func (s *sim) noticing(ctx context.Context, n *node) (context.Context, func()) {
	if n.link == nil {
		return ctx, func() {}
	}
	noticed, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if n.link.Frozen() {
			n.link.AwaitMotion()
			s.sharing.net.Rest(20 * breath)
		}
		cancel(context.Cause(ctx))
	})
	return noticed, func() {
		stop()
		cancel(nil)
	}
}

// disturb does something to what lies between the engines, or mends it, or sets a clock.
func (s *sim) disturb() {
	n := s.anyOf(s.live())
	if n == nil {
		return
	}
	for _, way := range []network.Way{network.ToLeases, network.ToPeers, network.ToLog, network.Following} {
		if n.link.IsCut(way) && s.chance(0.6) {
			n.link.Cut(way, false)
			s.say("engine %d reaches %s again", n.number, way)
			return
		}
	}
	switch x := s.rng.IntN(10); {
	case x < 3:
		s.cutOff(n, network.ToLeases)
	case x < 5:
		s.cutOff(n, network.ToPeers)
	case x < 6:
		s.cutOff(n, network.ToLog)
	case x < 7:
		for _, way := range []network.Way{network.ToLeases, network.ToPeers, network.ToLog} {
			s.cutOff(n, way)
		}
	case x < 9:
		s.cutOff(n, network.Following)
	default:
		s.step(n)
	}
}

func (s *sim) cutOff(n *node, way network.Way) {
	n.link.Cut(way, true)
	s.say("engine %d does not reach %s", n.number, way)
	s.did("cut from " + way.String())
}

// step sets the clock of one machine, unless a record of it is under way: the judge reads deadlines by it.
func (s *sim) step(n *node) {
	if s.concurrent || len(s.gate.waiting(func(other *node) bool { return other == n })) > 0 {
		return
	}
	by := pick(s, time.Hour, -time.Hour)
	if n.ahead() != 0 {
		by = -n.ahead()
	}
	n.offset.Add(int64(by))
	n.stepped, s.sharing.stepped = true, true
	s.say("the clock of engine %d is set by %s", n.number, by)
	s.did("clock set")
}

// idleFor lets so much time pass that leases end and are taken.
func (s *sim) idleFor() {
	d := time.Duration(1+s.rng.IntN(30)) * time.Second
	s.say("time passes: %v", d)
	s.pass(d)
}

func (s *sim) anyOf(nodes []*node) *node {
	if len(nodes) == 0 {
		return nil
	}
	return pick(s, nodes...)
}

// heal mends all ways of the node and sets its clock right.
func (s *sim) heal(n *node) {
	for _, way := range []network.Way{network.ToLeases, network.ToPeers, network.ToLog, network.Following} {
		n.link.Cut(way, false)
	}
	n.offset.Store(0)
}
