package decide

import (
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// StatusOf is F2: the run's status by the failure's class.
func StatusOf(class eventlog.Class) eventlog.RunStatus {
	switch class {
	case eventlog.Transient:
		return eventlog.RunPausedTransient
	case eventlog.Logic:
		return eventlog.RunFailedLogic
	case eventlog.Auth, eventlog.Permission, eventlog.Precondition:
		return eventlog.RunPausedApproval
	default:
		return eventlog.RunFailedInternal
	}
}

// closed keeps the classes a closed list (F1): a failure of any other class is the engine's own.
func closed(class eventlog.Class) eventlog.Class {
	switch class {
	case eventlog.Transient, eventlog.Logic, eventlog.Permission, eventlog.Auth, eventlog.Precondition:
		return class
	}
	return eventlog.Internal
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

// abort ends a run that has sent nothing, as if its worker had gone: no attempt fails, the
// workflow is not held, a fresh run goes on.
func (d *decision) abort(run *projections.Run, format string, args ...any) {
	d.emit(&eventlog.RunFailed{Run: run.ID, Status: eventlog.RunStatusCrashed,
		Failure: *failure(eventlog.Transient, Aborted, format, args...)})
	if run.Event != nil {
		d.releaseOne(run, uncharged)
		return
	}
	d.endSession(eventlog.SessionFailed)
	d.release(run, uncharged)
}

// decide of FailRun never touches an open mutation: only its settlement may end such a run (F11).
func (c FailRun) decide(d *decision) error {
	run, ok := d.active(c.Run)
	if !ok {
		return ErrStale
	}
	if m := d.state().Mutation(run.Mutation); run.Mutation != "" && m != nil && m.Status.Unresolved() {
		return ErrStale
	}
	f := c.Failure
	if f.Class == "" {
		f.Class = eventlog.Transient
	}
	f.Class = closed(f.Class)
	d.kind = "run.failed"
	d.emit(&eventlog.RunFailed{Run: run.ID, Status: StatusOf(f.Class), Failure: f})
	if run.Event != nil {
		d.heldUp(run, f)
		return nil
	}
	d.endSession(eventlog.SessionFailed)
	d.dispose(run, uncharged) // our own trouble never counts against a job
	d.affect(run.ID, f)
	return nil
}

// dispose is R16, in its order. It reports whether job attempts took the failure (J2).
func (d *decision) dispose(run *projections.Run, f eventlog.Failure) (jobsTookIt bool) {
	m := d.state().Mutation(run.Mutation)
	switch {
	case run.Mutation != "" && m != nil && m.Status.Unresolved(): // (a) before anything that looks at the phase
		d.emit(&eventlog.RetryOwed{Run: run.ID})
	case run.Mutation != "" && m != nil && m.Status == eventlog.MutationAwaitingApproval: // (b)
	case run.Phase.PastMutation(): // (c)
		d.emit(&eventlog.RetryOwed{Run: run.ID})
	default: // (d)
		return d.release(run, f)
	}
	return false
}

// uncharged is the failure of a run that ended without one that counts: a crash, or our own trouble (J6).
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
	held := s.Held(run)
	limit := d.consumer(run).MaxAttempts
	if limit != nil && len(held) > 0 && (f.Class == eventlog.Transient || f.Class == eventlog.Logic) {
		d.charge(run, held, *limit, f)
		return true
	}
	for _, e := range held {
		if e.SkipRequested {
			d.emit(&eventlog.EventSkipped{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID})
		} else {
			d.emit(&eventlog.EventReleased{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID})
		}
	}
	if h := d.state().Handler(run.Handler); h != nil && h.DirtyAt == 0 && len(held) > 0 {
		d.emit(&eventlog.HandlerDirtied{Handler: run.Handler})
	}
	return false
}

// affect is F7: what a failure does to the workflow. It never touches a person's pause.
func (d *decision) affect(run eventlog.RunID, f eventlog.Failure) {
	if d.state().Archived {
		return // nothing runs there any more
	}
	switch f.Class {
	case eventlog.Transient:
		d.backOff(run, f, 1, d.env.Policies.Transient.Max)
	case eventlog.Logic:
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

// escalate counts one more failure of the script or of its repair, and gives up on repairs when
// the budget is spent (F9).
func (d *decision) escalate(run eventlog.RunID, last string) bool {
	failures := d.state().RepairFailures + 1
	d.emit(&eventlog.RepairCounted{Failures: failures})
	if failures < d.env.Policies.Repair.Budget {
		return false
	}
	if d.state().Maintenance != nil {
		d.emit(&eventlog.MaintenanceLeft{})
	}
	d.block(eventlog.BlockLogic, run, "the script failed %s in a row, the last: %s", eventlog.Count(failures, "time"),
		last)
	return true
}

// block sets the system's hold. A hold that only a person's resume may end stays in its place
// (F12); Resume puts what is still true then behind it.
func (d *decision) block(reason eventlog.BlockReason, run eventlog.RunID, format string, args ...any) {
	if b := d.state().Blocked; b != nil && (b.Reason == eventlog.BlockContradiction || b.Reason == eventlog.BlockLoss) {
		return
	}
	d.emit(&eventlog.WorkflowBlocked{Reason: reason, Message: failure("", "", format, args...).Message, Run: run})
}
