package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/handler"
	"github.com/pawl-run/pawl/engine/process"
	"github.com/pawl-run/pawl/engine/runtask"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// lingerMinBusy is how many workflows must be at work for a run to linger, its own among them: with fewer there
// is nothing to save.
const lingerMinBusy = 8

// lingerFactor times the time that an append takes lately is how long a run lingers: a client that was told of
// the last commit needs that long to send the next event and to have it recorded.
const lingerFactor = 5

// recheckInterval is how long a runner that may start no run waits before it asks again whether it may.
const recheckInterval = time.Second

// runner steps one workflow: it looks at the state, does what that owes the world, and has the aggregate record
// what came of it. Only the recording keeps others out, so events and operator actions are taken while it works.
//
// Locking: tasks has its own. The runner's goroutine owns seenRings, worked and storageRetries; rest is atomic; found
// is set before that goroutine starts; nothing else changes.
type runner struct {
	engine   *process.Process
	workflow *aggregate
	calls    *calls
	handlers *handler.Caller
	tasks    runtask.Set // what they find out goes through the aggregate's record like all else
	log      *slog.Logger

	// rest is what the goroutine waits for. It counts only while nothing rang after the look at
	// the state that it followed from: see resting.
	rest atomic.Pointer[rest]

	// found is the revision of the workflow when this engine was given its partition: a run that was active then has lost
	// its runner, even one of this engine's own (R14). It is set before the runner runs.
	found uint64

	seenRings      uint64         // rings before the state was looked at
	worked         bool           // the last next belonged to a run with events
	storageRetries schedule.Pacer // with what it needs from log and store
}

func newRunner(a *aggregate) *runner {
	calls := &calls{workflow: a}
	a.calls = calls
	return &runner{
		engine: a.engine, workflow: a, calls: calls, handlers: handler.New(&a.engine.Handlers, a.name, backlog{a}),
		log: a.log, storageRetries: schedule.Pacer{Pauses: process.StoragePauses},
	}
}

// linger holds back a run that was started only to find that nothing is left to do (S3), while many workflows are at
// work: an event that arrives in the meantime is worked off by this very run, and two handler calls and a write are
// saved for each such event. Any change of the workflow ends it; only what falls due by time waits for a lingering run.
// It reports whether the state has to be looked at again.
func (r *runner) linger(ctx context.Context, s *projections.State, todo decide.Todo) bool {
	if next, ok := todo.(decide.RunNext); ok {
		r.worked = len(s.Run(next.Run).Reserved) > 0
		return false
	}
	prepare, ok := todo.(decide.RunPrepare)
	if !ok || !r.worked || r.engine.Config.Linger == 0 {
		return false
	}
	r.worked = false // only one look of a burst lingers
	run := s.Run(prepare.Run)
	if r.engine.AtWork.Load() < lingerMinBusy || !decide.LooksAround(s, run, r.workflow.now()) {
		return false
	}
	timer := time.NewTimer(min(r.engine.Config.Linger, lingerFactor*r.engine.Appends.Value()))
	defer timer.Stop()
	for r.workflow.state().Head == s.Head && !r.engine.Draining.Load() {
		select {
		case <-r.workflow.changed.Rung():
		case <-timer.C:
			return false
		case <-ctx.Done():
			return true
		}
	}
	return true
}

// failed deals with what went wrong outside the workflow's rules.
func (r *runner) failed(ctx context.Context, err error) {
	switch {
	case process.LogUnwritable(err):
		r.engine.Fail(err)
		<-ctx.Done()
	case errors.Is(err, process.ErrStopped): // it has said why
	case errors.Is(err, projections.ErrBroken), errors.Is(err, process.ErrDefect), errors.Is(err, runtask.ErrEntered):
		r.workflow.stop(err)
	default:
		pause, shouldLog := r.storageRetries.Failed(err)
		if shouldLog {
			r.log.Warn("storage trouble; trying again", "error", err, "in", pause, "failures", r.storageRetries.Tries())
		}
		r.backOff(ctx, pause)
	}
}

// assertNoOrphans is the startup assertion: violations are shown loudly and never repaired.
func (r *runner) assertNoOrphans() {
	s := r.workflow.state()
	for _, ref := range decide.Orphans(s) {
		r.log.Error("reserved event is held by no run", "topic", ref.Topic, "messageId", ref.MessageID,
			"reservedBy", s.Event(ref.Topic, ref.MessageID).ReservedBy)
	}
}

// rest is what a runner waits for and how many rings had come when its state was looked at.
type rest struct {
	waits        []decide.Wait
	rings        uint64
	ignoresRings bool // no ring ends it
}

// resting returns what the runner waits for, nil while it works or is about to.
func (r *runner) resting() []decide.Wait {
	now := r.rest.Load()
	if now == nil || !now.ignoresRings && now.rings != r.workflow.changed.Rings() {
		return nil
	}
	return now.waits
}

// quiet returns the runner's waits, and nil while anything is being recorded for its workflow, such as a push or a late
// answer: a caller that has seen its transition in the log must not be told that the engine is idle.
func (r *runner) quiet() []decide.Wait {
	if r.workflow.proposals.any() || len(r.workflow.recording) > 0 {
		return nil
	}
	return r.resting()
}

// noActiveRun is the drain's condition: no handler runs, no call of ours is open.
func noActiveRun(r *runner) bool {
	if r.workflow.stoppedBy() != nil {
		return true
	}
	s := r.workflow.state()
	ended := func(run *projections.Run) bool {
		return run.Status != eventlog.RunStatusActive || r.resting() != nil && run.Engine != r.engine.Name
	}
	if run := s.CurrentRun(); run != nil && !ended(run) {
		return false
	}
	for run := range s.OpenRuns() {
		if !ended(run) {
			return false
		}
	}
	return true
}

// sleep waits for the first of the waits' times, for a ring or for the end. What is waited for under
// [decide.EngineStandstill] is the machine: it is looked at again after a moment of real time, whatever the engine's
// clock says. While tasks are at work the runner waits, and does not rest.
func (r *runner) sleep(ctx context.Context, waits []decide.Wait) {
	var fired, again <-chan struct{}
	var until eventlog.Instant
	for i, wait := range waits {
		if wait.Reason == decide.ReasonStorage {
			at := time.Now().Add(recheckInterval)
			waits[i].Until = eventlog.At(at)
			var cancel func()
			again, cancel = clock.System{}.At(at)
			defer cancel()
		} else if wait.Until != 0 && (until == 0 || wait.Until < until) {
			until = wait.Until
		}
	}
	if until != 0 {
		// Before the runner can be seen at rest: a manual clock that is moved then must know this moment,
		// or it would pass over it.
		var cancel func()
		fired, cancel = r.engine.Config.Clock.At(until.Time())
		defer cancel()
	}
	if !r.tasks.Working() {
		defer r.restOn(&rest{waits: waits, rings: r.seenRings})()
	}
	for {
		select {
		case <-r.workflow.changed.Rung():
			if r.workflow.changed.Rings() == r.seenRings {
				// That ring came before the look at the state. Waking up for it would take this moment off
				// a manual clock whose Advance has just found the runner at rest.
				continue
			}
		case <-fired:
		case <-again:
		case <-ctx.Done():
		}
		return
	}
}

// backOff lets d of real time pass, with the runner at rest meanwhile for lack of storage. Nothing wakes it: what has
// failed would only fail again, as often as it is rung for.
func (r *runner) backOff(ctx context.Context, d time.Duration) {
	defer r.restOn(&rest{
		waits: []decide.Wait{{Reason: decide.ReasonStorage, Until: eventlog.At(time.Now().Add(d))}}, ignoresRings: true,
	})()
	clock.Sleep(ctx, d)
}

// restOn shows that the runner rests, until the function that it returns is called.
func (r *runner) restOn(on *rest) (end func()) {
	r.rest.Store(on)
	r.engine.AtWork.Add(-1)
	r.engine.Idle.Notify()
	return func() {
		r.engine.AtWork.Add(1)
		r.rest.Store(nil)
	}
}

// stopEnded ends the scripts of runs that are over in the state: a command may have ended them.
func (r *runner) stopEnded(s *projections.State) {
	r.tasks.Stop(func(run eventlog.RunID) bool { return isOver(s, run) })
}

// isOver reports whether the run has ended in the state, or is no longer in memory because of that.
func isOver(s *projections.State, id eventlog.RunID) bool {
	run := s.Run(id)
	return run == nil || run.EndedAt != 0
}
