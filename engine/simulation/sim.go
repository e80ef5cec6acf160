package simulation

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
	"github.com/pawl-run/pawl/projections/store"
)

// Config of one run of the simulation.
type Config struct {
	Seed uint64
	// AwaitBlocked returns once every goroutine that Run has started is blocked. Run must be called in a
	// bubble of testing/synctest, and this is its Wait.
	AwaitBlocked func()
	// Moves is how many moves are made with faults; 0 means 200.
	Moves int
	// Focus is what the seed is about; the zero value lets the seed decide.
	Focus Focus
	// Trace, if set, gets every line of the history as it happens.
	Trace func(line string)
	// Decide, Connectors, Log and Store break the engine on purpose; nil leaves it as it is.
	Decide     func(engine.DecideFunc) engine.DecideFunc
	Connectors func(engine.Connectors) engine.Connectors
	Log        func(eventlog.Log) eventlog.Log
	Store      func(engine.Store) engine.Store
	// Unbounded connectors listen on to any number of calls after their deadlines.
	Unbounded bool
	// Unwatched engines do not look into what others have written.
	Unwatched bool
}

// Report says what a run has seen.
type Report struct {
	Moves       int
	Transitions int
	Effects     int
	// Seen counts facts by type, faults and operators' actions by name.
	Seen map[string]int
}

// Violation is a broken invariant with the moves that led to it.
type Violation struct {
	Seed    uint64
	Message string
	Trace   []string
}

func (v *Violation) Error() string {
	return fmt.Sprintf("seed %d: %s\nrepeat it: go test ./engine/simulation -run TestSeeds -seed %d\n"+
		"the last moves:\n  %s",
		v.Seed, v.Message, v.Seed, strings.Join(v.Trace, "\n  "))
}

// traceKept is how many moves a violation shows.
const traceKept = 60

// sim is one simulation. Its fields belong to the driver except where they lock.
type sim struct {
	cfg      Config
	rng      *rand.Rand
	profile  profile
	policies schedule.Policies
	// quiet is how long the receiver may go on with a request whose call has ended without an answer.
	quiet time.Duration
	// unseen is how long it may go on after the deadline of a call that was cut off with its process.
	unseen time.Duration
	// mostOpen is how many calls a process listens on to at most after their deadlines.
	mostOpen int
	// watching: the engines look into gaps, and write their stores by themselves.
	watching bool
	clock    *clock
	gate     *gate
	memory   *memlog.Log
	below    eventlog.Log
	faults   sync.Map // eventlog.TransitionID -> memlog.Fault
	doubtful sync.Map // eventlog.TransitionID -> true: written, and its sender gave up before it knew
	writers  sync.Map // eventlog.TransitionID -> *node that appends it
	world    *world
	// away: the connector is not there. mute: its send cannot be asked any more what became of it.
	away, mute atomic.Bool
	// tight: no run and no call starts, and no push is taken.
	tight atomic.Bool
	judge *judge

	nodes     []*node
	stores    []*store.Store
	inherited map[*store.Store]bool
	workflows []*workflow
	full      bool
	calm      bool
	survived  bool // the engine of the calm is one of those from before
	// pausedUntil is when engines have ended their pauses after unsettled appends; resent counts those.
	pausedUntil time.Time
	resent      map[eventlog.TransitionID]int
	stalled     map[eventlog.TransitionID]int // until how many moves are made the log does not insist
	successor   bool                          // another engine starts with the next move, while a log is held up
	ids, tags   int
	// denied are the mutations of which a person has said in the calm that they did not happen.
	denied map[eventlog.MutationID]bool
	// requests of operators that can still be given up.
	hangUp []func()

	trace   []string
	aliases map[string]string
	report  Report

	asking sync.WaitGroup
	mu     sync.Mutex
	bad    string
	acked  []place // pushes that were acknowledged and not yet compared with the log
}

// workflow is what the driver knows of one.
type workflow struct {
	name     eventlog.WorkflowName
	versions int
	widely   bool // the last deploy that was to take or give a topic its consumer gave it
}

// Run simulates one seed. The error is a *Violation, or that the simulation itself failed.
func Run(cfg Config) (Report, error) {
	if cfg.Moves == 0 {
		cfg.Moves = 200
	}
	s := &sim{
		cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 0x9a81)), clock: newClock(), gate: newGate(), world: newWorld(),
		resent: map[eventlog.TransitionID]int{}, stalled: map[eventlog.TransitionID]int{}, inherited: map[*store.Store]bool{},
		denied:  map[eventlog.MutationID]bool{},
		aliases: map[string]string{}, report: Report{Seen: map[string]int{}},
	}
	s.profile, s.policies = s.drawProfile(), s.drawPolicies()
	s.quiet = pick(s, 3*time.Second, 30*time.Second, 3*time.Minute)
	s.unseen = s.quiet + pick(s, 0, 10*time.Second, connector.DefaultListen)
	s.mostOpen = 1 + s.rng.IntN(2)
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

// violate notes a broken invariant; the first one counts.
func (s *sim) violate(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bad == "" {
		s.bad = fmt.Sprintf(format, args...)
	}
}

// say adds a line to the trace.
func (s *sim) say(format string, args ...any) {
	line := fmt.Sprintf("%s ", s.clock.Now().Format("15:04:05.000")) + fmt.Sprintf(format, args...)
	if s.cfg.Trace != nil {
		s.cfg.Trace(line)
	}
	if len(s.trace) == traceKept {
		s.trace = append(s.trace[:0], s.trace[1:]...)
	}
	s.trace = append(s.trace, line)
}

// did counts something that the simulation has done.
func (s *sim) did(what string) { s.report.Seen[what]++ }

// alias gives an id a short name that does not depend on chance outside of the seed.
func (s *sim) alias(id string) string {
	id = id[max(0, len(id)-26):]
	name, ok := s.aliases[id]
	if !ok {
		name = fmt.Sprintf("#%d", len(s.aliases)+1)
		s.aliases[id] = name
	}
	return name
}

func (s *sim) chance(p float64) bool { return s.rng.Float64() < p }

func pick[T any](s *sim, from ...T) T { return from[s.rng.IntN(len(from))] }

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

// Merge adds what another run has seen.
func (r *Report) Merge(other Report) {
	r.Moves += other.Moves
	r.Transitions += other.Transitions
	r.Effects += other.Effects
	if r.Seen == nil {
		r.Seen = map[string]int{}
	}
	for what, n := range maps.All(other.Seen) {
		r.Seen[what] += n
	}
}

// pass lets time pass: the clock by d, and as much of the engines' own timers as an open call lasts.
func (s *sim) pass(d time.Duration) {
	s.clock.to(s.clock.Now().Add(d))
	time.Sleep(min(d, 2*callTimeout))
}
