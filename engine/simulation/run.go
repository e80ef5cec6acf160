package simulation

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
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
		denied: map[eventlog.MutationID]bool{}, freed: map[*workflow]*freeing{},
		aliases: map[string]string{}, report: Report{Seen: map[string]int{}},
	}
	s.concurrent = s.drawConcurrent()
	s.profile, s.policies = s.drawProfile(), s.drawPolicies()
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
	for _, r := range s.world.order {
		s.report.Effects += r.effects
	}
	return s.report, err
}

// life is that of the simulation: faults first, then a calm in which all must come to rest.
func (s *sim) life() error {
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

// look waits for quiescence and checks everything.
func (s *sim) look() error {
	s.cfg.AwaitBlocked()
	for s.exchanges() {
		s.cfg.AwaitBlocked() // one that gives way is told of
	}
	s.judge.look()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bad == "" {
		return nil
	}
	return &Violation{Seed: s.cfg.Seed, Message: s.bad, Trace: s.trace}
}

// end lets every goroutine go and waits for it.
func (s *sim) end() {
	close(s.gate.over)
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
