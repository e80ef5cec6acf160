package decide

import (
	"iter"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// FailRun ends an active run for a reason outside of it, such as a log that could not be
// written in time (F11). It is transient when the failure has no class, counts against no
// job, and is stale while a mutation is open.
type FailRun struct {
	Run     eventlog.RunID
	Failure eventlog.Failure
}

// Recover is a runner's first act, at boot, after a takeover and after a regained lease: a run found active is crashed
// (R14), consumers with pending events are dirty (S6). One transition has no room for very many runs: while some are
// left, the runner decides it again.
type Recover struct {
	// Found is the revision at which the runner took over: a run that was active then is
	// crashed even if this very process had started it (a regained lease). Zero spares the
	// process's own runs.
	Found uint64
}

// decide of FailRun never touches an open mutation: only its settlement may end such a run (F11).
func (c FailRun) decide(d *decision) error {
	run, ok := d.active(c.Run)
	if !ok {
		return ErrStale
	}
	if m := d.state().Mutation(run.Mutation); m != nil && m.Status.Unresolved() {
		return ErrStale
	}
	f := c.Failure
	if f.Class == "" {
		f.Class = eventlog.Transient
	}
	f.Class = closed(f.Class)
	d.ours = true
	d.kind = "run.failed"
	d.emit(&eventlog.RunFailed{Run: run.ID, Status: StatusOf(f.Class), Failure: f})
	if run.Event != nil {
		d.deferForFault(run, f)
		return nil
	}
	d.endSession(eventlog.SessionFailed)
	d.dispose(run, uncharged) // a fault of the engine never counts against a job
	d.affect(run.ID, f)
	return nil
}

// decide of Recover keeps R14 and S6: the runner of an active run is gone, in this process or
// another. Only an open call of this very process is waited for.
func (c Recover) decide(d *decision) error {
	n := 0
	for run := range c.abandoned(d.state(), d.env.Engine) {
		if n++; n > maxCrashed || d.err != nil {
			break
		}
		d.crash(run)
	}
	s := d.state()
	if s.Archived || d.err != nil {
		return nil
	}
	for _, consumer := range s.Definition().Consumers {
		if consumer.Concurrent() {
			continue
		}
		h := s.Handler(consumer.Name)
		if _, waits := oldestVisible(s, consumer, d.env.Now); waits && h != nil && h.DirtyAt == 0 {
			d.emit(&eventlog.HandlerDirtied{Handler: consumer.Name})
		}
	}
	return nil
}

// maxCrashed bounds the runs that one transition crashes: with ids of 512 bytes that takes a quarter of a megabyte,
// which a broker takes that has the usual bounds.
const maxCrashed = 256

// Left reports whether the state has runs that are still to be crashed by the engine.
func (c Recover) Left(s *projections.State, engine string) bool {
	for range c.abandoned(s, engine) {
		return true
	}
	return false
}

// abandoned yields the active runs of the state for which nothing works any more: neither a runner, nor a call of the
// engine.
func (c Recover) abandoned(s *projections.State, engine string) iter.Seq[*projections.Run] {
	return func(yield func(*projections.Run) bool) {
		for _, run := range append([]*projections.Run{s.CurrentRun()}, slices.Collect(s.OpenRuns())...) {
			if run == nil || run.Status != eventlog.RunStatusActive ||
				run.Engine == engine && run.Began() > c.Found {
				continue
			}
			m := s.Mutation(run.Mutation)
			called := m != nil && m.Status == eventlog.MutationStatusInFlight && m.Engine == engine
			if !called && !yield(run) {
				return
			}
		}
	}
}

func (d *decision) crash(run *projections.Run) {
	m := d.state().Mutation(run.Mutation)
	if m != nil && m.Status == eventlog.MutationStatusInFlight {
		f := failure(eventlog.Transient, eventlog.CodeProcessStopped, "the process stopped while %s.%s was in flight",
			m.Call.Connector, m.Call.Operation)
		d.leaveUncertain(run, m, *f, 0)
		return
	}
	d.emitNaming(&eventlog.RunCrashed{Run: run.ID})
	if run.Event != nil {
		d.disposeOne(run, uncharged)
		return
	}
	d.endSession(eventlog.SessionFailed)
	d.dispose(run, uncharged)
}

// fail ends the active run with the failure: status (F2), disposition of its events (R16),
// session (S7) and effect on the workflow (F7), all in this transition.
func (d *decision) fail(run *projections.Run, f eventlog.Failure) {
	f.Class = closed(f.Class)
	if run.Event != nil {
		d.failOne(run, f)
		return
	}
	d.kind = "run.failed"
	d.emit(&eventlog.RunFailed{Run: run.ID, Status: StatusOf(f.Class), Failure: f})
	d.endSession(eventlog.SessionFailed)
	if d.dispose(run, f) {
		return // its jobs bear the failure; the workflow goes on (J2)
	}
	d.affect(run.ID, f)
}

// Aborted is the code of a run that ended without a fault of its own, before it sent anything.
const Aborted = "run.aborted"

// StoppedInTime is the failure of a call that was kept from leaving because of what an operator has done (O6). Its run
// ends without a fault of its own.
func StoppedInTime(why string) *eventlog.Failure {
	return failure(eventlog.Transient, Aborted, "%s", why)
}

// abort ends a run that has sent nothing, as if its runner had gone: no attempt fails, the
// workflow is not held, a fresh run goes on.
func (d *decision) abort(run *projections.Run, format string, args ...any) {
	d.emit(aborted(run, format, args...))
	if run.Event != nil {
		d.releaseOne(run, uncharged)
		return
	}
	d.endSession(eventlog.SessionFailed)
	d.release(run, uncharged)
}

// aborted is the end of a run that abort ends, or that is given up.
func aborted(run *projections.Run, format string, args ...any) *eventlog.RunFailed {
	return &eventlog.RunFailed{Run: run.ID, Status: eventlog.RunStatusCrashed,
		Failure: *failure(eventlog.Transient, Aborted, format, args...)}
}

// undoOne gives back the event of a run that ended earlier, now that its call is known not to have happened: after the
// transient back-off, since a settlement makes no new hold, or at once if a person said so (F5, O1). It does not count
// toward three failures in a row (C7).
func (d *decision) undoOne(run *projections.Run, f eventlog.Failure) {
	d.outOfRow = true
	if f.Class != "" {
		f.Class = eventlog.Transient
	}
	if e := d.ownEvent(run); e != nil && f.Class == "" {
		d.emit(&eventlog.EventReleased{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID})
	} else {
		d.releaseOne(run, f)
	}
	if d.err == nil && d.state().Run(run.ID).Owes {
		d.emit(&eventlog.RunRetryCleared{Run: run.ID})
	}
}

// deferForFault gives back what a run had reserved when a fault of the engine ended it. No attempt is counted, and
// the next try comes after a delay (F11, C8).
func (d *decision) deferForFault(run *projections.Run, f eventlog.Failure) {
	wait, _, _ := d.nextTry(0, f)
	at := d.env.Now.Add(wait)
	if d.err != nil {
		return
	}
	if run.Phase.PastMutation() {
		d.emit(&eventlog.RunRetryOwed{Run: run.ID, At: at, Attempt: run.Tries})
	} else if e := d.ownEvent(run); e != nil {
		d.emit(&eventlog.EventDeferred{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID, Until: at})
	}
}

// dispose is R16, in its order. It reports whether job attempts took the failure (J2).
func (d *decision) dispose(run *projections.Run, f eventlog.Failure) (jobsTookIt bool) {
	m := d.state().Mutation(run.Mutation)
	switch {
	case m != nil && m.Status.Unresolved(): // (a) before anything that looks at the phase
		d.emit(&eventlog.RetryOwed{Run: run.ID})
	case m != nil && m.Status == eventlog.MutationStatusAwaitingApproval: // (b)
	case run.Phase.PastMutation(): // (c)
		d.emit(&eventlog.RetryOwed{Run: run.ID})
	default: // (d)
		return d.release(run, f)
	}
	return false
}

// uncharged is the failure of a run that must not count against its events: a crash, or a fault of the engine (J6).
var uncharged = eventlog.Failure{}

// release gives the run's events back. With a job limit a definite transient or logic failure is its
// jobs' (J2). A failure without a class, as of a crash, counts against no job.
func (d *decision) release(run *projections.Run, f eventlog.Failure) (jobsTookIt bool) {
	s := d.state()
	if run.Type == eventlog.ProducerHandler {
		// The poll is still owed: its next time was set when it started (F8, O8).
		d.emit(&eventlog.HandlerScheduled{Handler: run.Handler, NextRunAt: d.env.Now})
		return false
	}
	reserved := s.ReservedBy(run)
	limit := d.consumer(run).MaxAttempts
	if limit != nil && len(reserved) > 0 && (f.Class == eventlog.Transient || f.Class == eventlog.Logic) {
		d.charge(run, reserved, *limit, f)
		return true
	}
	for _, e := range reserved {
		if e.SkipRequested {
			d.emit(&eventlog.EventSkipped{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID})
		} else {
			d.emit(&eventlog.EventReleased{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID})
		}
	}
	if h := d.state().Handler(run.Handler); h != nil && h.DirtyAt == 0 && len(reserved) > 0 {
		d.emit(&eventlog.HandlerDirtied{Handler: run.Handler})
	}
	return false
}

// affect is F7: what a failure does to the workflow. It never touches a person's pause. Nothing is left to hold in an
// archived workflow, nor where a deploy has taken the last plain handler while the run went on: nothing would end the
// hold there (C8).
func (d *decision) affect(run eventlog.RunID, f eventlog.Failure) {
	if s := d.state(); s.Archived || len(plainHandlers(s.Definition())) == 0 {
		return
	}
	switch f.Class {
	case eventlog.Transient:
		d.backOff(run, f, 1, d.env.Policies.Transient.Max)
	case eventlog.Logic:
		if r := d.state().Run(run); r != nil {
			d.countedBefore(r.Handler)
		}
		if !d.escalate(run, f.Message) {
			d.emit(&eventlog.MaintenanceEntered{Run: run})
		}
	case eventlog.Auth:
		d.block(eventlog.BlockAuth, run, "%s", f.Message)
	case eventlog.Permission:
		d.block(eventlog.BlockPermission, run, "%s", f.Message)
	case eventlog.Precondition:
		d.block(eventlog.BlockPrecondition, run, "%s", f.Message)
	default:
		d.block(eventlog.BlockInternal, run, "%s", f.Message)
	}
}
