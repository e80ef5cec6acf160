package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// lookAgain is how long a worker that may start no run waits before it asks again whether it may.
const lookAgain = time.Second

// worker owns one workflow: one goroutine that steps it, and the lock under which anyone may
// record a decision on it.
type worker struct {
	engine *Engine
	part   *partition
	name   eventlog.WorkflowName
	log    *slog.Logger

	current atomic.Pointer[projections.State]
	// rest is what the goroutine waits for. It counts only while no nudge came after the look at
	// the state that it followed from: see resting.
	rest   atomic.Pointer[rest]
	nudges atomic.Uint64
	wake   chan struct{}

	// The goroutine's own:
	looked     uint64                    // nudges before the state was looked at
	farSighted map[eventlog.Handler]bool // consumers whose prepare has looked beyond nearSight
	worked     bool                      // the last next was that of a run with events
	trouble    retry                     // with what it needs from log and store

	// damage is what the check of the log has found of the workflow's past: nothing new begins.
	damage atomic.Pointer[error]

	// behind says that the log is known to hold records of the workflow that are not read yet.
	behind atomic.Bool

	// recording is a lock that gives up when its context ends.
	recording chan struct{}
	// Under recording:
	unsettled *unsettled                             // an append whose fate is not known yet
	schedules map[eventlog.Handler]schedule.Schedule // of the version below
	scheduled eventlog.Version

	sightings sightings // of calls whose outcome is not known

	mu    sync.Mutex
	dirty map[projections.Key]struct{} // changed since the last flush
	// flushing was dirty and is on its way to the store: until it has arrived there, memory alone
	// knows it, and the store's row is older.
	flushing map[projections.Key]struct{}
	// evictable is in a committed checkpoint and may leave memory.
	evictable []projections.Key
	flushed   bool  // since the last eviction
	stopped   error // why this workflow cannot go on
	started   bool
	left      bool // under part.mu: the checkpoint has gone on without this workflow
}

func newWorker(p *partition, name eventlog.WorkflowName, s projections.State) *worker {
	w := &worker{
		engine: p.engine, part: p, name: name, log: p.engine.log.With("workflow", string(name)),
		wake: make(chan struct{}, 1), recording: make(chan struct{}, 1), dirty: map[projections.Key]struct{}{},
		farSighted: map[eventlog.Handler]bool{}, trouble: retry{pauses: storageTrouble},
	}
	w.current.Store(&s)
	return w
}

// state is the workflow's newest state. It never changes once read.
func (w *worker) state() *projections.State { return w.current.Load() }

func (w *worker) now() eventlog.Instant { return eventlog.At(w.engine.cfg.Clock.Now()) }

// rest is a wait and how many nudges had come when its state was looked at.
type rest struct {
	decide.Wait
	nudges uint64
	deaf   bool // no nudge ends it
}

// resting returns what the worker waits for, nil while it works or is about to.
func (w *worker) resting() *decide.Wait {
	r := w.rest.Load()
	if r == nil || !r.deaf && r.nudges != w.nudges.Load() {
		return nil
	}
	return &r.Wait
}

// quiet is what the worker waits for, nil as well while something is recorded on it: a push, a late
// reply. A caller that has seen its transition in the log must not find the engine idle before it counts.
func (w *worker) quiet() *decide.Wait {
	if len(w.recording) > 0 {
		return nil
	}
	return w.resting()
}

// nudge makes the goroutine look at the state again.
func (w *worker) nudge() {
	w.nudges.Add(1)
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *worker) startedElsewhere(engine string) bool { return engine != w.engine.name }

func (w *worker) stoppedBy() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stopped
}

// stop takes the workflow out of service: its past cannot be folded or its rules are broken.
// Everything else goes on.
func (w *worker) stop(err error) {
	w.mu.Lock()
	first := w.stopped == nil
	if first {
		w.stopped = err
	}
	w.mu.Unlock()
	if first {
		w.log.Error("workflow stopped: its log cannot be followed; run `pawl verify`", "error", err)
	}
	w.engine.idle.rested()
}

// run steps the workflow until ctx ends.
func (w *worker) run(ctx context.Context) {
	recovered := false
	w.engine.atWork.Add(1)
	defer w.engine.atWork.Add(-1)
	for ctx.Err() == nil && w.stoppedBy() == nil {
		var err error
		w.looked = w.nudges.Load()
		if w.behind.Load() {
			err = w.follow(ctx)
		} else if !recovered {
			if _, err = w.record(ctx, decide.Recover{}, eventlog.System, eventlog.Cause{Kind: "restart", ID: w.engine.name}); err == nil {
				recovered = true
				w.assertNoOrphans()
			}
		} else {
			err = w.step(ctx)
		}
		switch {
		case err == nil:
			w.trouble.succeeded()
		case ctx.Err() == nil:
			w.mishap(ctx, err)
		}
	}
}

// mishap deals with what went wrong outside the workflow's rules.
func (w *worker) mishap(ctx context.Context, err error) {
	switch {
	case takesNothing(err):
		w.engine.fail(err)
		<-ctx.Done()
	case errors.Is(err, errStopped): // it has said why
	case errors.Is(err, projections.ErrBroken), errors.Is(err, errDefect):
		w.stop(err)
	default:
		pause, tell := w.trouble.failed(err)
		if tell {
			w.log.Warn("storage trouble; trying again", "error", err, "in", pause, "failures", w.trouble.tries)
		}
		w.sitOut(ctx, pause)
	}
}

// follow reads what others have written to the workflow.
func (w *worker) follow(ctx context.Context) error {
	if err := w.take(ctx); err != nil {
		return err
	}
	defer w.engine.recordings.done()
	defer w.recorded()
	return w.catchUp(ctx)
}

// sleepForStorage waits a moment of real time, whatever the engine's clock says: what is waited
// for is the machine.
func (w *worker) sleepForStorage(ctx context.Context) {
	w.sleepOn(ctx, SystemClock{}, decide.Wait{Reason: decide.ReasonStorage, Until: eventlog.At(time.Now().Add(lookAgain))})
}

// assertNoOrphans is the startup assertion: violations are shown loudly and never repaired.
func (w *worker) assertNoOrphans() {
	for _, ref := range decide.Orphans(w.state()) {
		w.log.Error("reserved event is held by no run", "topic", ref.Topic, "messageId", ref.MessageID,
			"reservedBy", w.state().Event(ref.Topic, ref.MessageID).ReservedBy)
	}
}

// sleep waits for the wait's time, for a nudge or for the end.
func (w *worker) sleep(ctx context.Context, wait decide.Wait) {
	w.sleepOn(ctx, w.engine.cfg.Clock, wait)
}

func (w *worker) sleepOn(ctx context.Context, clock Clock, wait decide.Wait) {
	var fired <-chan struct{}
	if wait.Until != 0 {
		// Before the worker can be seen at rest: a manual clock that is moved then must know this moment,
		// or it would pass over it.
		var cancel func()
		fired, cancel = clock.At(wait.Until.Time())
		defer cancel()
	}
	w.rest.Store(&rest{Wait: wait, nudges: w.looked})
	defer w.rest.Store(nil)
	w.engine.atWork.Add(-1)
	defer w.engine.atWork.Add(1)
	w.engine.idle.rested()
	for {
		select {
		case <-w.wake:
			if w.nudges.Load() == w.looked {
				// That nudge came before the look at the state. Waking up for it would take this moment off
				// a manual clock whose Advance has just found the worker at rest.
				continue
			}
		case <-fired:
		case <-ctx.Done():
		}
		return
	}
}
