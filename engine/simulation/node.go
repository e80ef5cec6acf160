package simulation

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/simulation/network"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/store"
)

// node is one process with an engine.
type node struct {
	number int
	engine *engine.Engine
	store  *store.Store
	stop   context.CancelFunc
	ended  chan struct{}
	err    error // what Run returned, once ended
	late   func(connector.Call, connector.Outcome)
	// listeners are the calls that its connector listens on to after their deadlines.
	listeners connector.Listeners
	asks      atomic.Int64 // of operators, not answered yet
	// link is its way to the others where engines share the partitions. offset is by how much its machine's clock is
	// ahead; stepped: it was set.
	link    *network.Link
	offset  atomic.Int64
	stepped bool

	// dead processes never go on; frozen ones do later; stopping ones have been asked to end;
	// failing ones have met a full disk.
	dead, frozen, stopping, failing bool
	// gone is set with dead, for the node's own goroutines: what they would read of a store that another has taken
	// over by now is not theirs.
	gone atomic.Bool
	// name is the engine's own, learned from its decisions.
	name atomic.Pointer[string]
	// compared is the revision up to which its memory was compared with the fold.
	compared map[eventlog.WorkflowName]uint64
}

// running reports whether the node takes part: what it has parked may be released.
func (n *node) running() bool { return !n.dead && !n.frozen && !n.over() }

func (n *node) over() bool {
	select {
	case <-n.ended:
		return true
	default:
		return false
	}
}

// ahead is by how much the clock of the node's machine is ahead.
func (n *node) ahead() time.Duration { return time.Duration(n.offset.Load()) }

// freeze lets the process stand still, or go on.
func (n *node) freeze(frozen bool) {
	n.frozen = frozen
	if n.link != nil {
		n.link.Freeze(frozen)
	}
}

// cutOff reports whether there is no way from the node to the log.
func (n *node) cutOff() bool { return n.link != nil && n.link.IsCut(network.ToLog) }

func (n *node) ready() bool {
	select {
	case <-n.engine.Ready():
		return n.running()
	default:
		return false
	}
}

// live lists the nodes that take part.
func (s *sim) live() []*node {
	var live []*node
	for _, n := range s.nodes {
		if n.running() {
			live = append(live, n)
		}
	}
	return live
}

// heir is the store of the last process that is gone, if no engine has it open: its successor on the
// same machine starts with it. It holds what was flushed and no more.
func (s *sim) heir() *store.Store {
	for i := len(s.nodes) - 1; i >= 0; i-- {
		n := s.nodes[i]
		// What is left of a dead engine that was about to end would still write its store.
		abrupt := n.dead && !n.stopping && !n.failing
		if !abrupt && !n.over() || s.inherited[n.store] {
			continue
		}
		s.inherited[n.store] = true
		return n.store
	}
	return nil
}

// nodeStore is the store as one engine sees it. What is left of a dead process neither reads nor writes what another
// has taken over by now: a real one would be gone, and its lock on the store with it.
type nodeStore struct {
	*store.Store
	sim  *sim
	node *node
}

// Get implements engine.Store.
func (s *nodeStore) Get(w eventlog.WorkflowName, keys []projections.Key) ([]any, error) {
	if err := s.alive(); err != nil {
		return nil, err
	}
	return s.Store.Get(w, keys)
}

// Commit implements engine.Store.
func (s *nodeStore) Commit(b store.Batch) error {
	if err := s.alive(); err != nil {
		return err
	}
	return s.Store.Commit(b)
}

// alive returns at once while the process is there, else at the end of the simulation.
func (s *nodeStore) alive() error {
	if s.node.gone.Load() {
		<-s.sim.gate.over
		return errOver
	}
	return nil
}

// appendAnswer is what happens to one attempt to append.
type appendAnswer struct {
	fault memlog.Fault
	// insist: the log settles an attempt of which it does not know how it ended by itself, and tells the
	// engine nothing before. Otherwise the engine is told that it is not settled.
	insist bool
	// slow parks again once it is written: others go on before the engine knows.
	slow bool
	// die ends the process here: before it is written, or with written after.
	die, written bool
}

// appendAnswer draws what happens to an append.
func (s *sim) appendAnswer() appendAnswer {
	switch x := s.rng.Float64(); {
	case s.full:
		return appendAnswer{fault: memlog.Full}
	case x < s.profile.die:
		return appendAnswer{die: true, written: s.chance(0.5)}
	case s.chance(s.profile.lostAck):
		return appendAnswer{fault: memlog.LostAck, insist: s.chance(0.5)}
	case s.chance(s.profile.refused):
		return appendAnswer{fault: memlog.Refuse, insist: s.chance(0.5)}
	}
	return appendAnswer{slow: s.chance(s.profile.slow)}
}

// nodeLog is the log as one engine sees it.
type nodeLog struct {
	eventlog.Log
	sim  *sim
	node *node
}

// Append implements eventlog.Log.
func (l *nodeLog) Append(ctx context.Context, e eventlog.Entry) (eventlog.Written, error) {
	for {
		written, err, again := l.attempt(ctx, e)
		if !again {
			return written, err
		}
	}
}

// attempt makes one attempt; again says that the log makes another one by itself.
func (l *nodeLog) attempt(ctx context.Context, e eventlog.Entry) (written eventlog.Written, err error, again bool) {
	answer, err := l.sim.gate.park(ctx, &op{node: l.node, workflow: e.Workflow, kind: opAppend, entry: e})
	switch {
	case errors.Is(err, errOver):
		return written, eventlog.ErrClosed, false
	case err != nil: // its sender gave up: for all it knows it may be written
		return written, fmt.Errorf("append to %s: %w: %w", e.Workflow, eventlog.ErrUnconfirmed, err), false
	}
	todo := answer.(appendAnswer)
	if l.sim.sharing != nil {
		l.sim.sharing.offsets.Store(e.ID, l.node.ahead())
	}
	if todo.die {
		if todo.written {
			_, _ = l.Log.Append(context.WithoutCancel(ctx), e) // the dead never learn how it ended
		}
		<-l.sim.gate.over
		return written, eventlog.ErrClosed, false
	}
	l.sim.writers.Store(e.ID, l.node)
	l.sim.faults.Store(e.ID, todo.fault)
	written, err = l.Log.Append(context.WithoutCancel(ctx), e)
	if todo.slow {
		_, gone := l.sim.gate.park(ctx, &op{node: l.node, workflow: e.Workflow, kind: opAck, entry: e})
		switch {
		case errors.Is(gone, errOver):
			return eventlog.Written{}, eventlog.ErrClosed, false
		case gone != nil:
			l.sim.doubtful.Store(e.ID, true)
			return eventlog.Written{}, fmt.Errorf("append to %s: %w: %w", e.Workflow, eventlog.ErrUnconfirmed, gone), false
		}
	}
	if errors.Is(err, eventlog.ErrUnconfirmed) && todo.insist {
		return eventlog.Written{}, nil, true
	}
	if _, doubt := l.sim.doubtful.Load(e.ID); doubt && err != nil && !errors.Is(err, eventlog.ErrConflict) {
		// A refusal of this try says nothing about an earlier one.
		err = fmt.Errorf("%w: %w", eventlog.ErrUnconfirmed, err)
	}
	return written, err, false
}

// Close does nothing: the log outlives the engines.
func (l *nodeLog) Close() error { return nil }

// fault is what the memory log asks before each append.
func (s *sim) fault(e eventlog.Entry) memlog.Fault {
	if fault, ok := s.faults.LoadAndDelete(e.ID); ok {
		return fault.(memlog.Fault)
	}
	return memlog.None
}
