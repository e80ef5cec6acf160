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
	"github.com/pawl-run/pawl/engine/lease"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/store"
	"github.com/pawl-run/pawl/sandbox"
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
	// Decide, Scripts, Connectors, Log and Store break the engine on purpose; nil leaves it as it is.
	Decide     func(engine.DecideFunc) engine.DecideFunc
	Scripts    func(sandbox.Executor) sandbox.Executor
	Connectors func(engine.Connectors) engine.Connectors
	Log        func(eventlog.Log) eventlog.Log
	Store      func(engine.Store) engine.Store
	// Leases and Peers break what engines share the partitions with.
	Leases func(lease.Config) lease.Config
	Peers  func(engine.Peers) engine.Peers
	// After changes what a read waits for.
	After func(eventlog.Position) eventlog.Position
	// Unbounded connectors listen on to any number of calls after their deadlines.
	Unbounded bool
	// Unwatched engines do not look into what others have written.
	Unwatched bool
}

// Focus is what a seed makes happen again and again, because it seldom comes together by chance.
type Focus int

// What a seed may be about; about two in nine are about nothing.
const (
	// Drawn lets the seed decide.
	Drawn Focus = iota
	// LostAnswers: few requests of a history lose their answers; here most do, at a receiver that is busy for long.
	LostAnswers
	// LostCallers: the same, and the engine that sent it dies before the receiver is done.
	LostCallers
	// Resubscriptions: between two writes to the store, events come and end while their topic loses its consumer
	// and gets it back.
	Resubscriptions
	// BusyReceivers have too much to do, and say when to come again.
	BusyReceivers
	// SharedPartition: two engines are at work on two workflows of a partition.
	SharedPartition
	// OpenExchanges: calls stay open after their deadlines, and the engine that listens may die.
	OpenExchanges
	// Losses: persons accept again and again that a part of the log is lost.
	Losses
	// Anything leaves the profile as it was drawn.
	Anything
	// SideBySide: concurrent consumers in a world in which little goes wrong but what operators do.
	SideBySide
	// Outages: their target goes down and comes back, again and again.
	Outages
	// Doubts: the outcomes of most of their calls are not known.
	Doubts
	// Resends: the receiver knows a call by its key, and most answers are lost.
	Resends
	// Sharing: the engines share the partitions by leases; they stand still, are cut off from each other, from the leases
	// or from the log, follow late, and their clocks are set.
	Sharing
)

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
	Focus   Focus
	Message string
	Trace   []string
}

func (v *Violation) Error() string {
	test := "TestSeeds"
	if v.Focus == Sharing {
		test = "TestSharingSeeds"
	}
	return fmt.Sprintf("seed %d: %s\nrepeat it: go test ./engine/simulation -run '%s$' -seed %d\nthe last moves:\n  %s",
		v.Seed, v.Message, test, v.Seed, strings.Join(v.Trace, "\n  "))
}

// traceKept is how many moves a violation shows.
const traceKept = 60

// profile is how likely what is in this seed. A seed leaves about half of the faults out: those
// that remain meet each other more often, and long undisturbed histories occur too.
type profile struct {
	crash, freeze, second, stop float64 // per move
	full, tight, hangUp, tool   float64 // per move
	busyCrash                   float64 // per move: the caller of a receiver that is busy dies
	lostAck, refused, slow, die float64 // per append
	uncertain, definite, silent float64 // per call
	scriptFails                 float64 // per invocation
	operator                    float64 // per move
	honestRetry                 float64 // per reconcile
	careless                    float64 // per reconcile of what the receiver is still busy with
	lingers                     float64 // per silent call: its connector listens on after the deadline
	busy                        float64 // per definite transient failure: it says when to come again
	dawdles                     float64 // per look at a receiver that is busy: it takes its time
	limited                     float64 // per version: it limits its jobs' attempts
	// Per move: every process dies, and a person accepts that a part of the log is lost
	loss        float64
	shared      bool    // two workflows are in one partition, and engines look into what others write
	resubscribe float64 // per operator's action: a topic loses its consumer, or gets it back
	outage      float64 // per move: the target goes down, or works again
	// Per move, where engines share the partitions: something happens between them; leases have time to end
	disturb, idle float64
	stand         float64 // per move while a request is about to leave: its process stands still for as long as a lease
}

// sim is one simulation. Its fields belong to the driver except where they lock.
type sim struct {
	cfg     Config
	rng     *rand.Rand
	profile profile
	// concurrent: consumers of this seed may be concurrent (C1).
	concurrent bool
	// slowLog: most of what is to be written waits until nothing else can go on.
	slowLog  bool
	policies schedule.Policies
	// timeout is that of a call.
	timeout time.Duration
	// quiet is how long the receiver may go on with a request whose call has ended without an answer.
	quiet time.Duration
	// unseen is how long it may go on after the deadline of a call that was cut off with its process.
	unseen time.Duration
	// within is for how long the receiver knows a call by its key, so that the same may be sent again; 0 where it is
	// asked.
	within time.Duration
	// maxOpen is how many calls a process listens on to at most after their deadlines.
	maxOpen int
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
	// roomyAt is when engines have noticed that there is space again.
	roomyAt time.Time
	// down is the class as which every call fails now, empty for none.
	down  eventlog.Class
	judge *judge
	// sharing is nil where each engine runs every partition.
	sharing *sharing

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
	stalled     map[eventlog.TransitionID]int // the number of moves before which the log does not insist
	successor   bool                          // another engine starts with the next move, while a log is held up
	ids, tags   int
	// denied are the mutations of which a person has said in the calm that they did not happen.
	denied map[eventlog.MutationID]bool
	// freed is the last way out of a hold that was taken in the calm.
	freed map[*workflow]*freeing
	// hangUp are the requests of operators that can still be given up.
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

// freeing is a way out of a hold that an operator has taken.
type freeing struct {
	event eventlog.EventRef
	held  projections.Held
	what  string
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
	if s.sharing != nil {
		// Leases end and are taken meanwhile. What falls due comes after that, or it would wait for the log as long; a
		// call that ends meanwhile ends at its time.
		s.clock.pass(d, min(d, 40*time.Second))
		return
	}
	s.clock.to(s.clock.Now().Add(d))
	time.Sleep(min(d, 2*callTimeout))
}

// bubbleNow is the time of the engines' own timers.
func (s *sim) bubbleNow() time.Time { return time.Now() }
