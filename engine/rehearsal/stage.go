package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/store"
	"github.com/pawl-run/pawl/sandbox"
)

// Config is what tests run with.
type Config struct {
	// Scripts runs the script and the test file. Its owner closes it.
	Scripts sandbox.Executor
	// Connectors are those whose operations the script may call. Nothing of them is called.
	Connectors *connector.Registry
	// Policies default to schedule.Default() when zero.
	Policies schedule.Policies
	// Vars are settings that the script reads as ctx.vars; those of a suite replace them by name.
	Vars sandbox.Vars
	// Timeout is how long a case may take in real time; 0 means a minute.
	Timeout time.Duration
}

// stage is what one case runs on: a log, a clock and the outside, which outlive its engines, and the engine of the
// moment.
//
// Locking: mu guards what the engines tell; all else belongs to the goroutine of the case.
type stage struct {
	c        *Case
	config   engine.Config
	log      *memlog.Log
	store    *store.Store
	clock    *clock.Manual
	outside  *outside
	workflow eventlog.WorkflowName

	engine *engine.Engine
	life   *mortalLog
	alive  context.Context // ends with the engine
	stop   context.CancelFunc
	ended  chan struct{}
	result error // of the engine, once ended

	crash eventlog.FactType // what the next engine dies at; empty for nothing
	held  bool              // what is pushed waits

	mu     sync.Mutex
	once   eventlog.Handler                    // one run of it is awaited, beside which no other begins; empty for none
	runs   map[eventlog.RunID]eventlog.Handler // all that have begun, and whose they are
	logged []string
	failed *eventlog.Failure // of the newest run that failed
}

// tester is the actor of what a case does.
var tester = eventlog.Actor{Kind: "user", Name: "test"}

// catalog adapts the registry to the engine's interface.
type catalog struct {
	deploy.Catalog
	*connector.Registry
}

func (c catalog) Operation(name, operation string) (connector.Operation, bool) {
	return c.Registry.Operation(name, operation)
}

func (c catalog) Similar(name string) []string { return c.Registry.Similar(name) }

// open makes the stage of a case, with a first engine on it.
func open(ctx context.Context, cfg Config, s *Suite, c *Case, scripts sandbox.Executor, secrets []string) (*stage,
	error) {
	st, err := store.Open(store.Config{InMemory: true})
	if err != nil {
		return nil, fmt.Errorf("open a store in memory: %w", err)
	}
	start := Start
	if !c.Clock.IsZero() {
		start = c.Clock
	}
	on := &stage{c: c, log: memlog.New(memlog.Config{}), store: st, clock: clock.NewManual(start), outside: newOutside(),
		runs: map[eventlog.RunID]eventlog.Handler{}}
	registry, err := on.outside.registry(cfg.Connectors, s.Tools)
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	policies := cfg.Policies
	if policies == (schedule.Policies{}) {
		policies = schedule.Default()
	}
	on.config = engine.Config{
		Store: st, Scripts: scripts, Connectors: catalog{deploy.CatalogOf(registry), registry},
		Secrets: secrets, Vars: merged(cfg.Vars, s.Vars), Clock: on.clock, Random: rand.NewChaCha8([32]byte{}),
		Jitter: func() float64 { return 0.5 }, Policies: policies, Logger: slog.New(slog.DiscardHandler),
		Observe: on.observe, RunLog: on.takeLog, FlushEvery: time.Millisecond, Decide: on.decide,
		InTurn: true,
	}
	return on, on.start(ctx)
}

// start runs an engine until it is stopped or dies.
func (s *stage) start(ctx context.Context) error {
	s.life = newMortalLog(s.log, s.crash)
	s.crash = ""
	config := s.config
	config.Log = s.life
	e, err := engine.New(config)
	if err != nil {
		return fmt.Errorf("make an engine: %w", err)
	}
	lifetime, stop := context.WithCancel(context.WithoutCancel(ctx))
	alive, end := context.WithCancel(ctx)
	s.engine, s.stop, s.alive, s.ended = e, stop, alive, make(chan struct{})
	go func() {
		defer close(s.ended)
		s.result = e.Run(lifetime)
		end()
	}()
	select {
	case <-e.Ready():
		return nil
	case <-s.ended:
		return fmt.Errorf("start an engine: %w", s.result)
	}
}

// close ends the engine and all that outlives it.
func (s *stage) close() error {
	s.stop()
	<-s.ended
	return errors.Join(s.log.Close(), s.store.Close())
}

// restartIfDead has a new engine go on where the last one died. It reports whether one had died.
func (s *stage) restartIfDead(ctx context.Context) (bool, error) {
	select {
	case <-s.life.died:
	default:
		return false, nil
	}
	<-s.ended
	return true, s.start(ctx)
}

// decide is the engine's decision, but for four things: a deploy brings the state that a case gives, holds the
// workflow, and has no interval run at once; the end of that hold is the end of a pause and of nothing else; and the
// one run that is awaited holds the workflow again with its start, so that no other begins beside it or behind it.
func (s *stage) decide(state *projections.State, w eventlog.WorkflowName, env decide.Env,
	cmd decide.Command) (decide.Decision, error) {
	switch cmd.(type) {
	case decide.Deploy:
		env.Standstill = decide.EngineStandstill // nothing begins before the hold
		d, err := decide.Decide(state, w, env, cmd)
		if err != nil || d.Empty() {
			return d, err
		}
		for _, f := range d.Facts {
			if due, ok := f.(*eventlog.HandlerScheduled); ok && due.NextRunAt == env.Now {
				due.NextRunAt = env.NextDue[due.Handler]
			}
		}
		for handler, value := range s.c.State {
			d.Facts = append(d.Facts, &eventlog.HandlerStateSaved{Handler: handler, State: value})
		}
		d.Facts = append(d.Facts, &eventlog.WorkflowPaused{})
		d.Folded = nil // it is of other facts
		return d, nil
	case decide.Resume:
		if s.held && state.Pause != nil {
			resumed := &eventlog.WorkflowResumed{}
			return decide.Decision{Kind: resumed.FactType(), Facts: []eventlog.Fact{resumed}}, nil
		}
	}
	handler := s.awaited()
	if handler == "" || state.Pause != nil {
		return decide.Decide(state, w, env, cmd)
	}
	env.Runs = nil // one run begins, however many have a place
	d, err := decide.Decide(state, w, env, cmd)
	if err == nil && slices.ContainsFunc(d.Facts, s.endsRunOf(handler)) {
		env.Standstill = decide.EngineStandstill // it had begun before it was awaited, and is the one: none begins behind it
		d, err = decide.Decide(state, w, env, cmd)
	}
	if err == nil && (slices.ContainsFunc(d.Facts, startsRunOf(handler)) ||
		slices.ContainsFunc(d.Facts, s.endsRunOf(handler))) {
		d.Facts = append(d.Facts, &eventlog.WorkflowPaused{})
	}
	return d, err
}

// startsRunOf returns a function that reports whether a fact starts a run of the handler.
func startsRunOf(handler eventlog.Handler) func(eventlog.Fact) bool {
	return func(f eventlog.Fact) bool {
		started, ok := f.(*eventlog.RunStarted)
		return ok && started.Handler == handler
	}
}

// endsRunOf returns a function that reports whether a fact ends a run of the handler.
func (s *stage) endsRunOf(handler eventlog.Handler) func(eventlog.Fact) bool {
	return func(f eventlog.Fact) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch f := f.(type) {
		case *eventlog.RunCommitted:
			return s.runs[f.Run] == handler
		case *eventlog.RunFailed:
			return s.runs[f.Run] == handler
		}
		return false
	}
}

// awaited is the handler whose next run is awaited, empty for none.
func (s *stage) awaited() eventlog.Handler {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.once
}

// observe takes in what was recorded.
func (s *stage) observe(r eventlog.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range r.Facts {
		switch f := f.(type) {
		case *eventlog.RunStarted:
			s.runs[f.Run] = f.Handler
		case *eventlog.RunCommitted:
			s.over(f.Run)
		case *eventlog.RunFailed:
			failure := f.Failure
			s.failed = &failure
			s.over(f.Run)
		}
	}
}

// over ends the wait for the one run if this is it. The caller holds mu.
func (s *stage) over(run eventlog.RunID) {
	if s.once != "" && s.runs[run] == s.once {
		s.once = ""
	}
}

// takeLog takes in what a handler has logged.
func (s *stage) takeLog(_ eventlog.WorkflowName, _ eventlog.RunID, _ eventlog.Handler, lines []sandbox.LogLine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range lines {
		if line.Level != "call" && line.Level != "inputs" {
			s.logged = append(s.logged, line.Text)
		}
	}
}
