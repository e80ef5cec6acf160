package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections/store"
)

// Engine runs all workflows of a log. Its methods are safe for concurrent use.
type Engine struct {
	cfg Config
	log *slog.Logger
	ids *idSource
	// name is this process incarnation: a run started by another one is crashed (R14).
	name       string
	partitions []*partition
	ready      chan struct{}
	draining   atomic.Bool
	closed     atomic.Bool
	calls      inFlight // mutation calls that have left and are within their deadline
	outcomes   inFlight // their settlements, until they are recorded
	recordings inFlight // decisions on their way into the log, whose callers may be gone
	pinned     connector.Pinned
	idle       idleness
	atWork     atomic.Int64 // runners that do not rest
	appends    pace
	audit      audit
	advancing  sync.Mutex // one Advance at a time

	// writable ends, with the cause, once the log cannot be written any more.
	writable context.Context
	fail     context.CancelCauseFunc
	// life ends when the process gives up: settlements, and appends whose answer is not known, are retried
	// until then.
	life    context.Context
	endLife context.CancelFunc
}

// New checks the configuration and prepares an engine; Run starts it.
func New(cfg Config) (*Engine, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	e := &Engine{cfg: cfg, log: cfg.Logger, ids: newIDSource(cfg.Random), ready: make(chan struct{}), audit: audit{hurry: make(chan struct{})}}
	e.name = e.ids.next(cfg.Clock.Now())
	cfg.Connectors.OnLate(e.late)
	e.life, e.endLife = context.WithCancel(context.Background())
	e.writable, e.fail = context.WithCancelCause(context.Background())
	for p := range cfg.Log.Partitions() {
		e.partitions = append(e.partitions, newPartition(e, p))
	}
	return e, nil
}

// Ready is closed once every workflow is replayed and running.
func (e *Engine) Ready() <-chan struct{} { return e.ready }

// Run replays the log and runs the workflows until ctx ends; then it lets active handlers end
// (at most DrainTimeout), waits for what is on its way into the log (at most as long again), for calls that
// have left (until their deadlines) and for their outcomes to be recorded (at most SettleTimeout), writes the
// store and returns nil. It names the calls that it leaves open or unrecorded. It returns an error when the log
// is damaged or full, or the store cannot be written.
func (e *Engine) Run(ctx context.Context) error {
	defer e.endLife()
	defer e.fail(nil)
	defer e.closed.Store(true)
	for _, p := range e.partitions {
		if err := p.replay(ctx); err != nil {
			return err
		}
	}
	if clock, ok := e.cfg.Clock.(interface{ Resume(time.Time) }); ok {
		for _, p := range e.partitions {
			clock.Resume(p.lastAt.Time())
		}
	}
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	for _, p := range e.partitions {
		p.start(work)
	}
	close(e.ready)
	var fatal error
	select {
	case <-ctx.Done():
		e.drain()
	case <-e.cfg.Store.Failed():
		e.drain() // the log still takes what is under way
		fatal = e.cfg.Store.Err()
	case <-e.writable.Done():
	}
	stop()
	for _, p := range e.partitions {
		p.join()
	}
	e.settle()
	for _, p := range e.partitions {
		err := p.flush()
		if errors.Is(err, store.ErrDamaged) {
			e.log.Error("the local store could not be written at the end; the next start rebuilds it from the log", "error", err)
		} else if err != nil && fatal == nil {
			fatal = err
		}
	}
	if e.writable.Err() != nil {
		return context.Cause(e.writable)
	}
	return fatal
}

// settle sees the end of all that is under way. What the log does not answer is given up on in the end: the
// next start finds out what became of it.
func (e *Engine) settle() {
	if e.writable.Err() == nil {
		patience, cancel := context.WithTimeout(e.writable, e.cfg.DrainTimeout)
		e.recordings.rest(patience) // it may start a call yet
		e.calls.end()
		recorded, stop := context.WithTimeout(e.writable, e.cfg.SettleTimeout)
		if !e.outcomes.rest(recorded) && e.writable.Err() == nil {
			e.log.Warn("stopping although the log has not taken the outcomes of all calls; those that follow are named and reconciled by the next start",
				"after", e.cfg.SettleTimeout)
		}
		stop()
		if !e.recordings.rest(patience) && e.writable.Err() == nil {
			e.log.Warn("stopping although the log has not said what became of the last decisions; the next start finds out", "after", e.cfg.DrainTimeout)
		}
		cancel()
	}
	e.endLife()
	e.recordings.end()
	e.calls.end()
	e.outcomes.end()
	e.tellOpen()
}

// drain keeps new runs from starting and waits for the active ones, while they can be recorded.
func (e *Engine) drain() {
	e.draining.Store(true)
	timeout, cancel := context.WithTimeout(e.writable, e.cfg.DrainTimeout)
	defer cancel()
	e.nudgeAll()
	if err := e.idle.wait(timeout, e, noActiveRun); err != nil && e.writable.Err() == nil {
		e.log.Warn("stopping with handlers still running; their runs will be started again", "after", e.cfg.DrainTimeout)
	}
}

func (e *Engine) nudgeAll() {
	for a := range e.workflows() {
		a.nudge()
	}
}

// runners yields the runner of every workflow.
func (e *Engine) runners() iter.Seq[*runner] {
	return func(yield func(*runner) bool) {
		for _, p := range e.partitions {
			for _, r := range p.all() {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// workflows yields every workflow, the installation's own log among them.
func (e *Engine) workflows() iter.Seq[*aggregate] {
	return func(yield func(*aggregate) bool) {
		for r := range e.runners() {
			if !yield(r.workflow) {
				return
			}
		}
	}
}

func (e *Engine) workflow(name eventlog.WorkflowName) (*aggregate, bool) {
	return e.partitionOf(name).workflow(name)
}

func (e *Engine) partitionOf(name eventlog.WorkflowName) *partition {
	return e.partitions[e.cfg.Log.PartitionOf(name)]
}

// hold reports why no run may start now.
func (e *Engine) hold() error {
	if e.draining.Load() {
		return errors.New("the engine is shutting down")
	}
	if err := errors.Join(e.cfg.Store.Err(), e.Room()); err != nil {
		return fmt.Errorf("start a run: %w", err)
	}
	for _, p := range e.partitions {
		if err := p.lag.Stuck(); err != nil {
			return fmt.Errorf("start a run: %w", err)
		}
	}
	return nil
}

// Room reports why no new work may start now (too little free space), nil when there is room.
func (e *Engine) Room() error {
	if e.cfg.Room == nil {
		return nil
	}
	return e.cfg.Room()
}
