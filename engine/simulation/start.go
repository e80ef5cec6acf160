package simulation

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/store"
)

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
	n.listeners.Max = s.maxOpen
	if s.cfg.Unbounded {
		n.listeners.Max = math.MaxInt
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
	var kept engine.Store = &nodeStore{st, s, n}
	if s.cfg.Store != nil {
		kept = s.cfg.Store(kept)
	}
	// In most seeds the driver alone flushes: tickers of the engine's own cost time. In the others the engine
	// also looks into what stands between its own records.
	every := 1000 * time.Hour
	if s.watching && !s.cfg.Unwatched {
		every = 700 * time.Millisecond
	}
	group := 32
	if jitter > 0.75 { // some engines write each transition by itself
		group = 1
	}
	e, err := engine.New(engine.Config{
		Log: &nodeLog{s.below, s, n}, Store: kept, Scripts: &scripts{s, n}, Connectors: outer, Clock: nodeClock{s.clock, n},
		MaxGroup: group,
		Random:   rand.NewChaCha8(seed), Jitter: func() float64 { return jitter }, Policies: s.policies,
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
			if n.gone.Load() {
				<-s.gate.over
				return decide.Decision{}, errOver
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

// errTight is a disk with too little room for new work, and enough to settle what is under way.
var errTight = errors.New("too little space is free")
