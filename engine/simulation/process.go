package simulation

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/store"
	"github.com/pawl-run/pawl/sandbox"
)

// noEngine reports whether no engine is alive to do anything.
func (s *sim) noEngine() bool {
	for _, n := range s.nodes {
		if !n.dead && !n.over() {
			return false
		}
	}
	return true
}

// restart runs an engine again, on the store of the last one or on an empty one.
func (s *sim) restart() {
	st := s.heir()
	if s.chance(0.3) {
		st = nil
	}
	n, err := s.start(st)
	if err != nil {
		s.violate("the engine does not start: %v", err)
		return
	}
	s.say("engine %d starts (store of another: %v)", n.number, st != nil)
	s.did("restart")
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
		rules = withoutFolded(s.cfg.Decide(rules))
	}
	var executor sandbox.Executor = &scripts{s, n}
	if s.cfg.Scripts != nil {
		executor = s.cfg.Scripts(executor)
	}
	var outer engine.Connectors = &outside{sim: s, node: n}
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
	cfg := engine.Config{
		Log: &nodeLog{s.reachedBy(n), s, n}, Store: kept, Scripts: executor, Connectors: outer,
		Clock:    nodeClock{s.clock, n},
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
		Decide: func(state *projections.State, w eventlog.WorkflowName, env decide.Env,
			cmd decide.Command) (decide.Decision, error) {
			if n.name.Load() == nil {
				n.name.Store(&env.Engine)
			}
			if n.gone.Load() {
				<-s.gate.over
				return decide.Decision{}, errOver
			}
			return rules(state, w, env, cmd)
		},
	}
	if err := s.join(n, &cfg); err != nil {
		return nil, err
	}
	e, err := engine.New(cfg)
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

func (s *sim) crash() {
	if live := s.live(); len(live) > 0 {
		n := pick(s, live...)
		s.kill(n)
		s.say("engine %d dies", n.number)
		s.did("crash")
	}
}

// crashBusy ends a process whose call a receiver is still busy with, and reports whether there is one.
func (s *sim) crashBusy() bool {
	for _, r := range s.world.order {
		if r.busy(s.clock.Now()) && r.node.running() {
			s.kill(r.node)
			s.say("engine %d dies while %s is under way", r.node.number, s.alias(r.key))
			s.did("crash while busy")
			return true
		}
	}
	return false
}

// freeze stops a process for a while, or lets a frozen one go on: it knows nothing of what
// happened meanwhile.
func (s *sim) freeze() {
	for _, n := range s.nodes {
		if n.frozen && s.chance(0.7) {
			n.freeze(false)
			s.say("engine %d goes on", n.number)
			return
		}
	}
	if live := s.live(); len(live) > 0 {
		n := pick(s, live...)
		n.freeze(true)
		s.say("engine %d freezes", n.number)
		s.did("freeze")
	}
}

// second runs one more engine on the log while another one lives.
func (s *sim) second() {
	if len(s.live()) > 2 || len(s.nodes) > 8 {
		return
	}
	n, err := s.start(nil)
	if err != nil {
		s.violate("the engine does not start: %v", err)
		return
	}
	s.say("engine %d starts beside the others", n.number)
	s.did("second engine")
}

// stopOne asks an engine to stop. Which of an engine's own goroutines comes first then, the one that ends it or
// one that waits for its turn to record, the seed does not fix: so no goroutine waits for a turn.
func (s *sim) stopOne() {
	live := slices.DeleteFunc(s.live(), func(n *node) bool { return n.asks.Load() > s.parkedAsks(n) })
	if len(live) > 0 {
		n := pick(s, live...)
		n.stopping = true
		n.stop()
		s.say("engine %d is asked to stop", n.number)
		s.did("stop")
	}
}

// parkedAsks counts the transitions of operators that the node is about to write.
func (s *sim) parkedAsks(n *node) (count int64) {
	for _, o := range s.gate.waiting(func(other *node) bool { return other == n }) {
		if o.kind != opAppend && o.kind != opAck {
			continue
		}
		if t, err := eventlog.Decode(o.entry.Stored); err == nil && t.Actor == byOperator {
			count++
		}
	}
	return count
}

// kill ends the process at once: nothing that it has parked ever goes on.
func (s *sim) kill(n *node) {
	n.dead = true
	n.gone.Store(true)
	n.frozen = false
	if n.link != nil {
		n.link.Kill()
	}
	for _, r := range s.world.order {
		if r.node == n && r.open() && s.bubbleNow().Before(r.silentUntil) {
			r.until = s.judge.deadlines[r.key].Time().Add(s.unseen) // it was cut off
		}
	}
}

// gather starts the engines that share the partitions from the beginning.
func (s *sim) gather() error {
	if s.sharing == nil {
		return nil
	}
	for range 1 + s.rng.IntN(2) {
		if _, err := s.start(nil); err != nil {
			return err
		}
		s.breathe()
	}
	s.pass(20 * time.Second)
	return nil
}

// standStill lets a process stand still that is about to send a request, and go on, and reports whether there is one.
func (s *sim) standStill() bool {
	for _, o := range s.gate.waiting((*node).running) {
		if o.kind != opPerform {
			continue
		}
		d := time.Duration(8+s.rng.IntN(25)) * time.Second
		s.say("engine %d stands still for %s before it sends %s", o.node.number, d, s.alias(o.call.Key))
		s.did("stood still")
		o.node.freeze(true)
		s.pass(d)
		o.node.freeze(false)
		s.cfg.AwaitBlocked()
		if s.chance(0.7) && s.gate.performs(o.node, o.call.Key) {
			s.release(o)
		}
		return true
	}
	return false
}

// end lets every goroutine go and waits for it.
func (s *sim) end() {
	close(s.gate.over)
	if s.sharing != nil {
		s.sharing.net.Close()
	}
	for _, n := range s.nodes {
		n.stop()
	}
	for _, n := range s.nodes {
		<-n.ended
	}
	s.asking.Wait()
	for _, st := range s.stores {
		_ = st.Close()
	}
	_ = s.memory.Close()
}

// withoutFolded removes Decision.Folded. Broken rules may change the facts after Decide has folded them, and the engine
// has to fold the changed ones.
func withoutFolded(rules engine.DecideFunc) engine.DecideFunc {
	return func(s *projections.State, w eventlog.WorkflowName, env decide.Env,
		cmd decide.Command) (decide.Decision, error) {
		d, err := rules(s, w, env, cmd)
		d.Folded = nil
		return d, err
	}
}
