package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
	"github.com/pawl-run/pawl/projections/store"
)

// Run simulates one seed. The error is a *Violation, or that the simulation itself failed.
func Run(cfg Config) (Report, error) {
	if cfg.Moves == 0 {
		cfg.Moves = 200
	}
	s := &sim{
		cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 0x9a81)), clock: newClock(), gate: newGate(), world: newWorld(),
		resent: map[eventlog.TransitionID]int{}, stalled: map[eventlog.TransitionID]int{}, inherited: map[*store.Store]bool{},
		timeout: callTimeout, denied: map[eventlog.MutationID]bool{}, freed: map[*workflow]*freeing{},
		aliases: map[string]string{}, report: Report{Seen: map[string]int{}},
	}
	s.concurrent = s.drawConcurrent()
	s.profile, s.policies = s.drawProfile(), s.drawPolicies()
	if cfg.Focus == Resends || cfg.Focus == Drawn && cfg.Seed%5 == 4 { // not drawn: the other seeds keep their histories
		s.within = []time.Duration{24 * time.Hour, 6 * time.Minute}[cfg.Seed/5%2]
	}
	s.quiet = pick(s, 3*time.Second, 30*time.Second, 3*time.Minute)
	s.unseen = s.quiet + pick(s, 0, 10*time.Second, connector.DefaultListen)
	s.maxOpen = 1 + s.rng.IntN(2)
	s.watching = s.profile.shared || s.chance(0.2)
	partitions, workflows := 1+s.rng.IntN(2), 1+s.rng.IntN(2)
	if s.profile.shared {
		partitions, workflows = 1, 2
	}
	s.memory = memlog.New(memlog.Config{Partitions: partitions, Fault: s.fault})
	s.below = s.memory
	if cfg.Log != nil {
		s.below = cfg.Log(s.below)
	}
	if cfg.Focus == Sharing {
		s.sharing, s.watching = newSharing(), true
		s.timeout = pick(s, callTimeout, 40*time.Second) // the deadline of some calls lies behind the end of a lease
	}
	s.judge = newJudge(s)
	for i := range workflows {
		s.workflows = append(s.workflows, &workflow{name: eventlog.WorkflowName(fmt.Sprintf("w%d", i+1))})
	}
	defer s.end()
	if _, err := s.start(nil); err != nil {
		return s.report, err
	}
	err := s.life()
	s.report.Transitions = s.judge.transitions
	if s.sharing != nil {
		s.report.Seen["partition taken"] += s.sharing.net.Taken()
	}
	for _, r := range s.world.order {
		s.report.Effects += r.effects
	}
	return s.report, err
}

// life is the course of the simulation: faults first, then a calm in which all must come to rest.
func (s *sim) life() error {
	if err := s.gather(); err != nil {
		return err
	}
	for _, w := range s.workflows {
		if err := s.look(); err != nil {
			return err
		}
		s.deploy(s.nodes[0], w)
	}
	for range s.cfg.Moves {
		if err := s.look(); err != nil {
			return err
		}
		s.move()
		s.report.Moves++
	}
	return s.settleDown()
}

// calmMoves is within how many moves everything comes to rest once nothing goes wrong any more.
const calmMoves = 2000

// settleDown ends all faults and processes, starts one engine, lets operators help, and checks that everything comes to
// rest.
func (s *sim) settleDown() error {
	if err := s.look(); err != nil {
		return err
	}
	s.calm, s.full = true, false
	s.away.Store(false)
	if s.tight.Swap(false) {
		s.roomyAt = s.bubbleNow().Add(spaceNoticed)
	}
	s.down = ""
	n, err := s.survivor()
	if err != nil {
		return err
	}
	if err := s.look(); err != nil {
		return err
	}
	if err := s.awaitOwner(n); err != nil {
		return err
	}
	if err := s.catchUp(n); err != nil {
		return err
	}
	if err := s.look(); err != nil {
		return err
	}
	for _, w := range s.workflows {
		s.command(n, w, "grants", decide.SetGrants{Grants: map[string]eventlog.Grant{"*": eventlog.GrantAllow}})
	}
	helped := map[*workflow]uint64{}
	for moves := range calmMoves {
		if err := s.look(); err != nil {
			return err
		}
		if n.over() {
			s.violate("the engine ended by itself: %v", n.err)
			continue
		}
		if moves < 40 && s.chance(0.1) {
			s.push(n, pick(s, s.workflows...))
			continue
		}
		if ops := s.gate.waiting((*node).running); len(ops) > 0 {
			s.release(ops[s.rng.IntN(len(ops))])
			continue
		}
		resting := true
		for _, w := range s.workflows {
			if resting = s.help(n, w, helped); !resting {
				break
			}
		}
		if !resting {
			continue
		}
		return s.finish(n)
	}
	for _, w := range s.workflows {
		why, _ := n.engine.Why(w.name)
		s.violate("%s does not come to rest: it waits for %+v", w.name, why)
	}
	return s.look()
}

// survivor ends all processes but one, which has to find out by itself what the others have written; or it ends all and
// starts a new one.
func (s *sim) survivor() (*node, error) {
	var last *node
	if s.watching && s.chance(0.9) {
		for _, n := range s.live() {
			if n.ready() && !n.stopping && !n.failing && !slices.Contains(s.known(n), nil) {
				last = n
			}
		}
	}
	for _, n := range s.nodes {
		if n != last {
			s.kill(n)
		}
	}
	if last != nil {
		s.say("calm: engine %d is left", last.number)
		s.did("left alone")
		s.survived = true
		return last, nil
	}
	st := s.heir()
	if s.chance(0.5) {
		st = nil
	}
	n, err := s.start(st)
	if err == nil {
		s.say("calm: engine %d alone (store of another: %v)", n.number, st != nil)
	}
	return n, err
}

// known lists, for each partition that holds anything, a workflow that the engine knows and that is not archived, nil
// where there is none. A workflow of which the engine has read all is preferred.
func (s *sim) known(n *node) []*workflow {
	var known []*workflow
	for p, last := range s.judge.next {
		if last == 0 {
			continue
		}
		known = append(known, nil)
		for _, w := range s.workflows {
			has, ok := n.engine.State(w.name)
			state, at := s.judge.book(w.name).state(), &known[len(known)-1]
			if !ok || state.Archived || s.memory.PartitionOf(w.name) != p {
				continue
			}
			if *at == nil || has.Head.Revision == state.Head.Revision {
				*at = w
			}
		}
	}
	return known
}

// catchUp checks that an engine that is left alone gets to know all that the log holds, and answers every caller that
// asked before. It is told nothing but that something of its own stands at the end.
func (s *sim) catchUp(n *node) error {
	for _, w := range s.known(n) {
		if w == nil {
			continue // it has begun with the whole log
		}
		s.command(n, w, "grants",
			decide.SetGrants{Grants: map[string]eventlog.Grant{"*": eventlog.GrantAllow, "world.fire": eventlog.GrantAllow}})
	}
	for range calmMoves {
		if err := s.look(); err != nil {
			return err
		}
		if n.over() || s.reachedAll(n) && n.asks.Load() == 0 && !s.bubbleNow().Before(s.pausedUntil) {
			return nil
		}
		if ops := s.gate.waiting((*node).running); len(ops) > 0 {
			s.release(ops[s.rng.IntN(len(ops))])
		} else {
			s.pass(time.Second)
		}
	}
	s.violate("engine %d does not get to the end of the log", n.number)
	return s.look()
}

// reachedAll reports whether the engine has dealt with all that the log holds.
func (s *sim) reachedAll(n *node) bool {
	for p, last := range s.judge.next {
		if n.engine.ProcessedSeq(p) != last {
			return false
		}
	}
	return true
}

// finish checks that nothing is left, stops the engine, and compares its store with the fold.
func (s *sim) finish(n *node) error {
	for _, w := range s.workflows {
		s.nothingLeft(w)
	}
	if !s.reachedAll(n) {
		s.violate("engine %d rests and has not dealt with all that the log holds", n.number)
	}
	n.stopping = true
	n.stop()
	for !n.over() {
		s.cfg.AwaitBlocked()
		ops := s.gate.waiting((*node).running)
		if len(ops) == 0 {
			break
		}
		s.release(ops[0])
	}
	<-n.ended
	if n.err != nil {
		s.violate("the engine ended with %v", n.err)
	}
	for _, w := range s.workflows {
		s.stored(n, w)
	}
	return s.look()
}

// awaitOwner checks that an engine which is left alone comes to own every partition.
func (s *sim) awaitOwner(n *node) error {
	if s.sharing == nil {
		return nil
	}
	s.heal(n)
	for range calmMoves {
		if err := s.look(); err != nil || n.over() {
			return err
		}
		owns := 0
		for _, p := range n.engine.Partitions() {
			if p.Owned {
				owns++
			}
		}
		if owns == s.memory.Partitions() {
			return nil
		}
		if ops := s.gate.waiting((*node).running); len(ops) > 0 {
			s.release(ops[s.rng.IntN(len(ops))])
		} else {
			s.pass(time.Second)
		}
	}
	s.violate("engine %d is left alone and does not come to own every partition", n.number)
	return s.look()
}
