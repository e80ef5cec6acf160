package simulation

import (
	"context"
	"sync/atomic"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
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

func (n *node) ready() bool {
	select {
	case <-n.engine.Ready():
		return n.running()
	default:
		return false
	}
}

// kill ends the process at once: nothing that it has parked ever goes on.
func (s *sim) kill(n *node) {
	n.dead = true
	n.gone.Store(true)
	n.frozen = false
	for _, r := range s.world.order {
		if r.node == n && r.open() && s.bubbleNow().Before(r.silentUntil) {
			r.until = s.judge.started[r.key].Deadline.Time().Add(s.unseen) // it was cut off
		}
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
