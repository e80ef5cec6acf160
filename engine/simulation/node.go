package simulation

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/store"
)

// errTight is a disk with too little room for new work, and enough to settle what is under way.
var errTight = errors.New("too little space is free")

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

// start runs one more engine on the log. Without a store it starts with an empty one.
func (s *sim) start(st *store.Store) (*node, error) {
	if st == nil {
		var err error
		if st, err = store.Open(store.Config{InMemory: true}); err != nil {
			return nil, err
		}
		s.stores = append(s.stores, st)
	}
	n := &node{number: len(s.nodes) + 1, store: st, ended: make(chan struct{}),
		compared: map[eventlog.WorkflowName]uint64{}}
	n.listeners.Most = s.mostOpen
	if s.cfg.Unbounded {
		n.listeners.Most = math.MaxInt
	}
	var seed [32]byte
	for i := range seed {
		seed[i] = byte(s.rng.Uint32())
	}
	jitter := s.rng.Float64()
	rules := engine.DecideFunc(decide.Decide)
	if s.cfg.Decide != nil {
		rules = s.cfg.Decide(rules)
	}
	var outer engine.Connectors = &outside{s, n}
	if s.cfg.Connectors != nil {
		outer = s.cfg.Connectors(outer)
	}
	var kept engine.Store = st
	if s.cfg.Store != nil {
		kept = s.cfg.Store(kept)
	}
	// In most seeds the driver alone flushes: tickers of the engine's own cost time. In the others the engine
	// also looks into what stands between its own records.
	every := 1000 * time.Hour
	if s.watching && !s.cfg.Unwatched {
		every = 700 * time.Millisecond
	}
	e, err := engine.New(engine.Config{
		Log: &nodeLog{s.below, s, n}, Store: kept, Scripts: &scripts{s, n}, Connectors: outer, Clock: nodeClock{s.clock, n},
		Random: rand.NewChaCha8(seed), Jitter: func() float64 { return jitter }, Policies: s.policies,
		Logger: slog.New(slog.DiscardHandler), DrainTimeout: 5 * time.Second,
		FlushEvery: every,
		Window:     projections.Window{Events: 1 + int(jitter*4), Bytes: 1 << 20}, // most of a backlog is paged out
		DiskSpace: func() error {
			if s.tight.Load() {
				return errTight
			}
			return nil
		},
		Decide: func(state projections.State, w eventlog.WorkflowName, env decide.Env, known decide.Known,
			cmd decide.Command) (decide.Decision, error) {
			if n.name.Load() == nil {
				n.name.Store(&env.Engine)
			}
			return rules(state, w, env, known, cmd)
		},
	})
	if err != nil {
		return nil, err
	}
	n.engine = e
	ctx, cancel := context.WithCancel(context.Background())
	n.stop = cancel
	s.nodes = append(s.nodes, n)
	go func() {
		n.err = e.Run(ctx)
		close(n.ended)
	}()
	return n, nil
}

// kill ends the process at once: nothing that it has parked ever goes on.
func (s *sim) kill(n *node) {
	n.dead = true
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
