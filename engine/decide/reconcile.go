package decide

import (
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// ReconcileMargin is how long after a call's deadline its outcome may first be asked for by any process
// but the caller: clocks differ and a last write may still be on its way.
const ReconcileMargin = time.Second

// ClockSkew is by how much the clocks of engines may differ.
const ClockSkew = time.Minute

// ResendMargin is how long before the other side may forget the key of a call the last resend ends: clocks differ, and
// a last write may still be on its way.
const ResendMargin = time.Minute

// ResendMutation finds out what became of a call by sending the same once more, with the same key (F5). It is recorded
// before that; the outcome follows as a SettleMutation.
type ResendMutation struct{ Mutation eventlog.MutationID }

// decide of ResendMutation sends nothing that is not due, and nothing while the workflow is paused or the engine may
// not begin anything. When the attempts are used up, when the promise ends or after an archive, a person decides.
func (c ResendMutation) decide(d *decision) error {
	s := d.state()
	m := s.Mutation(c.Mutation)
	if m == nil {
		d.ask(projections.MutationKey(c.Mutation))
		return ErrStale
	}
	if m.Status != eventlog.MutationStatusNeedsReconcile || !reconcileDue(m, d.env.Now) || !m.Call.Resends() ||
		s.Pause != nil && !s.Archived || d.env.Standstill != NoStandstill {
		return ErrStale
	}
	attempt := counted(m) + 1
	end := resendEnd(m)
	why := notResent(s, m, time.Duration(m.Call.ResendMS)*time.Millisecond, d.env.Now)
	if why == "" && attempt > d.env.Policies.Reconcile.Attempts {
		why = "policies.reconcile.attempts are used up"
	}
	if why != "" {
		f := uncertainty(m.Failure)
		if why = "it is not sent again, since " + why; !strings.HasSuffix(f.Message, why) { // said before
			f.Message = joined(strings.TrimSuffix(f.Message, "."), "; ", why)
		}
		d.leaveIndeterminate(m, m.Run, f)
		d.kind = "mutation.left_indeterminate"
		return nil
	}
	deadline := min(d.env.Now.Add(time.Duration(m.Call.TimeoutMS)*time.Millisecond), end)
	d.emitNaming(&eventlog.MutationResent{Mutation: m.ID, Attempt: attempt, Deadline: deadline,
		At: deadline.Add(ReconcileMargin), Engine: d.env.Engine})
	return nil
}

// leaveUncertain ends the active run whose mutation may or may not have happened: events stay
// reserved, the workflow is held, and finding out goes on in the background (R16a, F5).
func (d *decision) leaveUncertain(run *projections.Run, m *projections.Mutation, f eventlog.Failure,
	overAt eventlog.Instant) {
	d.kind = "run.failed"
	d.emit(&eventlog.RunFailed{Run: run.ID, Status: eventlog.RunStatusPausedReconcile, Failure: f})
	if run.Event == nil {
		d.endSession(eventlog.SessionFailed)
	}
	if d.asks(m) || m.Engine != d.env.Engine {
		d.emit(d.firstReconcile(m, f, overAt))
		d.holdFor(m, run.ID)
	} else {
		d.leaveIndeterminate(m, run.ID, f)
	}
	if run.Event != nil {
		d.disposeOne(run, uncharged)
		if m.Engine == d.env.Engine { // a crash says nothing of the target
			d.countUncertain(run, m)
		}
		return
	}
	d.dispose(run, uncharged)
}

// countUncertain notes that the outcome of a call is not known. After three in a row no run begins (C3).
func (d *decision) countUncertain(run *projections.Run, m *projections.Mutation) {
	if h := d.state().Handler(run.Handler); d.err == nil && h != nil && len(h.Uncertain) < UncertainStreak {
		d.emit(&eventlog.HandlerUncertainCounted{Handler: run.Handler, Mutations: append(slices.Clip(h.Uncertain), m.ID)})
	}
}

// countCertain notes that the outcome of a call is known. That ends a streak that is not complete; a complete one ends
// with the outcome of a call in it (C3).
func (d *decision) countCertain(run *projections.Run, m *projections.Mutation) {
	h := d.state().Handler(run.Handler)
	if d.err != nil || h == nil || len(h.Uncertain) == 0 {
		return
	}
	if len(h.Uncertain) < UncertainStreak || slices.Contains(h.Uncertain, m.ID) {
		d.emit(&eventlog.HandlerUncertainCounted{Handler: run.Handler})
	}
}

// firstReconcile schedules the first question, or the first resend. The answer "applied" is believed from then on. The
// answer "not applied", and a person's word, count only from OverAt on, when nothing of the call can be under way, and
// nothing is sent again before.
//
// For a call of this process overAt says when that is, 0 while its exchange is open: then it waits for the deadline.
// A call that was answered has ended, whatever its deadline. One that broke off is asked about after its deadline too,
// but it is sent again as soon as it is over, since its host is promised to carry it out once.
//
// For another process's call it comes after the deadline by the wall clock, and also after the call's timeout counted
// from now: the caller's clock may be behind.
func (d *decision) firstReconcile(m *projections.Mutation, f eventlog.Failure,
	overAt eventlog.Instant) *eventlog.MutationReconcileScheduled {
	byClock := d.afterDeadline(m)
	if m.Engine == d.env.Engine {
		at := d.env.Now.Add(d.untilAsked(m, f, d.env.Policies.Reconcile.Delay(1, d.env.Jitter)))
		if overAt == 0 || overAt > d.env.Now && d.learnsEarly(m) {
			at = max(at, byClock)
		} else {
			at = max(at, overAt)
		}
		return &eventlog.MutationReconcileScheduled{Mutation: m.ID, At: at, Failure: f, OverAt: overAt}
	}
	timeout := time.Duration(m.Call.TimeoutMS) * time.Millisecond
	at := max(byClock, d.env.Now.Add(timeout+ReconcileMargin))
	overAt = at.Add(d.env.Unseen)
	if !d.learnsEarly(m) {
		at = overAt
	}
	return &eventlog.MutationReconcileScheduled{Mutation: m.ID, At: at, Failure: f, OverAt: overAt}
}

// untilAsked is how long the other side is left alone before it is asked, or sent the same call, once more: the
// policy's wait, or as long as it wants to be left alone if that is longer (F13). A resend waits for no wish that would
// outlast the promise that the key is known.
func (d *decision) untilAsked(m *projections.Mutation, f eventlog.Failure, wait time.Duration) time.Duration {
	wish := retryAfter(f)
	if m.Call.Resends() && d.env.Now.Add(wish) >= resendEnd(m) {
		return wait
	}
	return max(wait, wish)
}

// resendEnd is when the last resend of a call has to be over.
func resendEnd(m *projections.Mutation) eventlog.Instant {
	return m.StartedAt.Add(time.Duration(m.Call.ResendMS)*time.Millisecond - ResendMargin)
}

// learnsEarly reports whether anything can come of looking while something of the call may be under way: a connector
// that is asked may say that it was applied, while a resend has to wait, and so has a person.
func (d *decision) learnsEarly(m *projections.Mutation) bool { return d.asks(m) && !m.Call.Resends() }

// afterDeadline is when the mutation's deadline has passed by every clock. Of a call whose writer's clock
// was ahead of this one the deadline says nothing: waiting for it could take years.
func (d *decision) afterDeadline(m *projections.Mutation) eventlog.Instant {
	if max(m.StartedAt, m.ResentAt) > d.env.Now.Add(ReconcileMargin) {
		return 0
	}
	return m.Deadline.Add(ReconcileMargin)
}

// reconcileDue reports whether it is time to find out what became of a call. What a clock has put off that was set
// back since by more than clocks may differ is due at once: nobody can say when that clock's time comes. Whether
// something of the call may still be under way does not depend on it.
func reconcileDue(m *projections.Mutation, now eventlog.Instant) bool {
	return m.ReconcileAt <= now || m.ReconcileSince > now.Add(ClockSkew)
}

// counted is how many attempts have been made to find out, after the call was over. Older versions also counted
// attempts made while the call was open. Those have no OverAt and prove nothing (F5). A resend counts when it is
// recorded.
func counted(m *projections.Mutation) int {
	if m.OverAt == 0 && m.ResentAt == 0 {
		return 0
	}
	return m.ReconcileAttempts
}

func (d *decision) leaveIndeterminate(m *projections.Mutation, run eventlog.RunID, f eventlog.Failure) {
	d.emit(&eventlog.MutationLeftIndeterminate{Mutation: m.ID, Failure: f})
	d.holdFor(m, run)
}

// holdFor blocks the workflow for a mutation that is not settled, by its status now; for one of a concurrent consumer
// it holds the event (C5).
func (d *decision) holdFor(m *projections.Mutation, run eventlog.RunID) {
	if d.err != nil {
		return
	}
	m = d.state().Mutation(m.ID)
	if r := d.state().Run(run); r != nil && r.Event != nil {
		reason := eventlog.HeldReconcile
		switch m.Status {
		case eventlog.MutationStatusAwaitingApproval:
			reason = eventlog.HeldApproval
		case eventlog.MutationStatusIndeterminate:
			reason = eventlog.HeldIndeterminate
		}
		d.holdEvent(r, d.ownEvent(r), reason)
		return
	}
	switch m.Status {
	case eventlog.MutationStatusAwaitingApproval:
		d.block(eventlog.BlockApproval, run, "%s.%s awaits approval", m.Call.Connector, m.Call.Operation)
	case eventlog.MutationStatusIndeterminate:
		d.block(eventlog.BlockIndeterminate, run,
			"it is not known whether %s.%s was applied; a person must look and resolve mutation %s", m.Call.Connector,
			m.Call.Operation, m.ID)
	default:
		then := "its connector is being asked"
		switch {
		case d.asks(m) && m.Call.Resends():
			then = "the same call is sent again with the same key, to find out"
		case !d.asks(m):
			then = "a person decides once nothing of the call can be under way any more"
		}
		d.block(eventlog.BlockReconcile, run, "%s.%s may or may not have been applied; %s", m.Call.Connector,
			m.Call.Operation, then)
	}
}

// asks reports whether the mutation's connector will be asked what became of it (F5).
func (d *decision) asks(m *projections.Mutation) bool {
	return m.Call.Reconciles && d.env.Policies.Reconcile.Attempts > 0
}

func uncertainty(f *eventlog.Failure) eventlog.Failure {
	if f != nil {
		return *f
	}
	return *failure(eventlog.Transient, "mutation.notKnown", "the call's outcome is not known")
}

// joined bounds two messages in one: where both are long, each has half of the room.
func joined(first, link, second string) string {
	room := eventlog.MaxMessage - len(link)
	second = eventlog.Clip(second, max(room/2, room-len(first)))
	return eventlog.Clip(first, room-len(second)) + link + second
}

// unblockUncertain ends the hold of an uncertain mutation; no other hold, and no person's pause. The hold of one of a
// concurrent consumer is its event's.
func (d *decision) unblockUncertain(run *projections.Run) {
	if run.Event != nil {
		d.freeEvent(run)
		return
	}
	d.unblock(eventlog.BlockReconcile, eventlog.BlockIndeterminate)
}
