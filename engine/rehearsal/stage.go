package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
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
	once   eventlog.Handler // the workflow is held again with the end of its next run; empty for none
	logged []string
	failed *eventlog.Failure // of the newest run that failed
}

// tester is the actor of what a case does.
var tester = eventlog.Actor{Kind: "user", Name: "test"}

// catalog gives the registry the shape that the engine asks for.
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
	on := &stage{c: c, log: memlog.New(memlog.Config{}), store: st, clock: clock.NewManual(start), outside: newOutside()}
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
		Secrets: secrets, Vars: s.Vars, Clock: on.clock, Random: rand.NewChaCha8([32]byte{}),
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
// end of the one run that is awaited holds the workflow again.
func (s *stage) decide(state projections.State, w eventlog.WorkflowName, env decide.Env, known decide.Known,
	cmd decide.Command) (decide.Decision, error) {
	switch cmd.(type) {
	case decide.Deploy:
		env.Hold = decide.HeldByEngine // nothing begins before the hold
		d, err := decide.Decide(state, w, env, known, cmd)
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
		return d, nil
	case decide.Resume:
		if s.held && state.Pause != nil {
			resumed := &eventlog.WorkflowResumed{}
			return decide.Decision{Kind: resumed.FactType(), Facts: []eventlog.Fact{resumed}}, nil
		}
	}
	d, err := decide.Decide(state, w, env, known, cmd)
	if handler := s.awaited(); err == nil && handler != "" && endsRunOf(&state, handler, d.Facts) {
		d.Facts = append(d.Facts, &eventlog.WorkflowPaused{})
	}
	return d, err
}

// endsRunOf reports whether the facts end a run of the handler.
func endsRunOf(state *projections.State, handler eventlog.Handler, facts []eventlog.Fact) bool {
	return slices.ContainsFunc(facts, func(f eventlog.Fact) bool {
		var id eventlog.RunID
		switch f := f.(type) {
		case *eventlog.RunCommitted:
			id = f.Run
		case *eventlog.RunFailed:
			id = f.Run
		default:
			return false
		}
		run := state.Run(id)
		return run != nil && run.Handler == handler
	})
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
		if failed, ok := f.(*eventlog.RunFailed); ok {
			failure := failed.Failure
			s.failed = &failure
		}
		if _, paused := f.(*eventlog.WorkflowPaused); paused {
			s.once = ""
		}
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

// hasLogged reports whether a line has the text.
func (s *stage) hasLogged(part string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.logged {
		if strings.Contains(line, part) {
			return true
		}
	}
	return false
}

// lastFailure is the failure of the newest run that failed, nil for none.
func (s *stage) lastFailure() *eventlog.Failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// operate does what an operator does.
func (s *stage) operate(ctx context.Context, cmd decide.Command) error {
	return s.engine.Operate(ctx, tester, s.workflow, cmd, "test")
}

// hold keeps the workflow from running what is pushed.
func (s *stage) hold(ctx context.Context) error {
	if s.held {
		return nil
	}
	if err := s.operate(ctx, decide.Pause{}); err != nil {
		return err
	}
	s.held = true
	return nil
}

// release lets the workflow run.
func (s *stage) release(ctx context.Context) error {
	if !s.held {
		return nil
	}
	if err := s.operate(ctx, decide.Resume{}); err != nil {
		return err
	}
	s.held = false
	return nil
}

// advance moves the clock, with everything that is due on the way; where the engine dies, the next one goes on.
func (s *stage) advance(ctx context.Context, by time.Duration) error {
	until := s.clock.Now().Add(by)
	for {
		if err := s.release(ctx); err != nil {
			return err
		}
		_, err := s.engine.Advance(s.alive, until.Sub(s.clock.Now()))
		died, startErr := s.restartIfDead(ctx)
		switch {
		case startErr != nil:
			return startErr
		case died:
			continue
		}
		return err
	}
}

// runOnce lets the workflow run until the next run of the handler has ended, and holds it then.
func (s *stage) runOnce(ctx context.Context, handler eventlog.Handler) error {
	s.mu.Lock()
	s.once = handler
	s.mu.Unlock()
	if err := s.advance(ctx, 0); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.once != "" {
		s.once = ""
		return fmt.Errorf("no run of %q has ended: nothing was due for it, or it waits", handler)
	}
	s.held = true
	return nil
}

// maxTries bounds how often run waits for a further try.
const maxTries = 100

// run lets the workflow run until it is idle: pauses before further tries pass, schedules and wakeAt do not count. It
// ends too where the tries have failed so often that a person should look (F8).
func (s *stage) run(ctx context.Context) error {
	for range maxTries {
		if err := s.advance(ctx, 0); err != nil {
			return err
		}
		next, ok := s.nextTry()
		if !ok {
			return nil
		}
		if err := s.advance(ctx, next.Sub(s.clock.Now())); err != nil {
			return err
		}
	}
	return fmt.Errorf("the workflow does not come to rest: it has tried again %d times. Use advance to let a part of "+
		"the time pass", maxTries)
}

// nextTry is when work that is left goes on by itself.
func (s *stage) nextTry() (time.Time, bool) {
	var next time.Time
	state, _ := s.engine.State(s.workflow)
	for _, wait := range s.engine.Waits(s.workflow) {
		if wait.Reason.Meaning() != decide.GoesOn || wait.Until == 0 || decide.NeedsAttention(&state, wait) {
			continue
		}
		if at := wait.Until.Time(); next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next, !next.IsZero()
}

// fold is the whole state of the workflow, its history included.
func (s *stage) fold(ctx context.Context) (state projections.State, err error) {
	for r, err := range s.log.ReadWorkflow(ctx, s.workflow, 1) {
		if err != nil {
			return state, fmt.Errorf("read the log of the test: %w", err)
		}
		if state, err = projections.Apply(state, r); err != nil {
			return state, fmt.Errorf("fold the log of the test: %w", err)
		}
	}
	return state, nil
}
