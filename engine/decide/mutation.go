package decide

import (
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/engine/capability"
	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// ReconcileMargin is how long after a call's deadline its outcome may first be asked for by any process
// but the caller: clocks differ and a last write may still be on its way.
const ReconcileMargin = time.Second

func (c FinishMutate) decide(d *decision) error {
	run, ok := d.active(c.Run)
	if !ok || run.Mutation != "" || run.Phase != eventlog.PhaseMutating && run.Phase != eventlog.PhasePrepared {
		return ErrStale
	}
	if c.Failure != nil && c.Call != nil {
		d.refuseCall(run, *c.Call, *c.Failure)
		return nil
	}
	if c.Failure != nil {
		d.fail(run, *c.Failure)
		return nil
	}
	if c.Call == nil {
		if run.Phase == eventlog.PhasePrepared {
			d.emit(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseMutating})
		}
		d.passMutation(run.ID)
		return d.emitNext(run.ID, d.consumer(run), nil)
	}
	call := *c.Call
	call.UITitle = run.UITitle
	id := eventlog.MutationID(run.ID)
	if denied := capability.DeniedSecret(d.state().Name, d.state().Grants, c.Secrets); denied != nil {
		d.fail(run, *denied)
		return nil
	}
	switch capability.GrantedAt(d.state().Grants, call.Connector, call.Operation, c.Host, true) {
	case eventlog.GrantDeny:
		d.fail(run, *capability.Denied(d.state().Name, call.Connector, call.Operation, c.Host))
	case eventlog.GrantAllow:
		d.startMutation(run, id, call)
	default:
		d.lead(&eventlog.MutationApprovalRequested{Mutation: id, Run: run.ID, Call: call})
		d.emit(&eventlog.RunSuspended{Run: run.ID})
		if d.err == nil {
			d.holdFor(d.state().Mutation(id), run.ID)
		}
	}
	return nil
}

// refuseCall is F14: the call is in the ledger as failed and never sent, in the failure's own transition.
func (d *decision) refuseCall(run *projections.Run, call eventlog.MutationCall, f eventlog.Failure) {
	call.UITitle = run.UITitle
	refused := &eventlog.MutationRefused{Mutation: eventlog.MutationID(run.ID), Run: run.ID, Call: call, Failure: f}
	d.emit(refused)
	if d.err == nil {
		d.fail(d.state().Run(run.ID), f)
	}
	d.kind = refused.FactType()
}

// startMutation is the barrier: once this is durable, the request may leave, until its deadline.
func (d *decision) startMutation(run *projections.Run, id eventlog.MutationID, call eventlog.MutationCall) {
	d.lead(&eventlog.MutationStarted{
		Mutation: id, Run: run.ID, Call: call, Key: IdempotencyKey(d.state().Name, id),
		Deadline: d.env.Now.Add(time.Duration(call.TimeoutMS) * time.Millisecond), Engine: d.env.Engine,
	})
}

// IdempotencyKey is derived from the chain's first run, so every look at the same mutation
// carries the same key.
func IdempotencyKey(w eventlog.WorkflowName, id eventlog.MutationID) string {
	return "pawl-" + string(w) + "-" + string(id)
}

// decide of SettleMutation always records what became of a known mutation, whatever the status of
// its run. A final outcome is never changed (F12).
func (c SettleMutation) decide(d *decision) error {
	s := d.state()
	m := s.Mutation(c.Mutation)
	if m == nil {
		d.demand(projections.MutationKey(c.Mutation))
		return refuse(NotFound, "mutation.unknown", "workflow %s has no mutation %q", s.Name,
			c.Mutation).hint(hint.Mutations)
	}
	c = c.believed()
	if m.Status.Final() {
		return d.contradict(m, c)
	}
	if m.Status == eventlog.MutationAwaitingApproval {
		return ErrStale // nothing was ever sent
	}
	run := s.Run(m.Run)
	if run == nil {
		d.demand(projections.RunKey(m.Run))
		return nil
	}
	active := (run.ID == s.Current || run.Event != nil) && run.Status == eventlog.RunActive
	switch {
	case c.Outcome.Status == Applied:
		d.applied(run, m, c, active)
	case c.Outcome.Status == Failed:
		d.failed(run, m, c, active)
	case active:
		d.leaveUncertain(run, m, c.found(run, uncertainty(c.Outcome.Failure)), c.over(d.env.Now))
	case m.Status == eventlog.MutationNeedsReconcile && c.By == eventlog.ResolvedByReconcile:
		d.askAgain(run, m, c)
	default:
		// The call's own "not known" says nothing new, and the inline attempt does not count (F5).
		return ErrStale
	}
	return nil
}

func (d *decision) applied(run *projections.Run, m *projections.Mutation, c SettleMutation, active bool) {
	result := c.Outcome.Result
	if result == nil {
		result = []byte("null")
	}
	d.lead(&eventlog.MutationApplied{Mutation: m.ID, Run: run.ID, Result: result, ResolvedBy: c.By})
	d.countCertain(run, m)
	d.emit(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseMutated})
	if active {
		// An inline settlement goes on in the same run (R15).
		d.emit(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseEmitting})
		if consumer := d.consumer(run); !consumer.HasNext && d.err == nil {
			d.err = CommitRun{Run: run.ID}.decide(d)
			d.kind = "mutation.applied"
		}
		return
	}
	d.unblockUncertain(run)
}

func (d *decision) failed(run *projections.Run, m *projections.Mutation, c SettleMutation, active bool) {
	f := *failure(eventlog.Internal, "mutation.failed", "%s.%s was not applied", m.Call.Connector, m.Call.Operation)
	if c.Outcome.Failure != nil {
		f = *c.Outcome.Failure
		f.Class = closed(f.Class)
	}
	f = c.found(run, f)
	fact := &eventlog.MutationFailed{Mutation: m.ID, Run: run.ID, Failure: f, ResolvedBy: c.By}
	d.emit(fact)
	defer func() { d.kind = fact.FactType() }()
	if d.neverSent = c.By == eventlog.ResolvedByNeverSent; !d.neverSent {
		d.countCertain(run, m)
	}
	if active {
		d.fail(d.state().Run(run.ID), f)
		return
	}
	if d.undo(run, f) || run.Event != nil {
		return
	}
	// Being settled unblocks by itself (O4), so its class makes no new hold; a fresh run meets the
	// cause again if it lasts. Only not in a hurry.
	if f.Class != eventlog.Transient {
		f = *failure(eventlog.Transient, f.Code, "%s", f.Message)
	}
	d.affect(run.ID, f)
}

// undo gives back what an ended run held once its mutation is known not to have happened: its
// events are free and a fresh run may take them (F5, O1).
func (d *decision) undo(run *projections.Run, f eventlog.Failure) (jobsTookIt bool) {
	if run.Event != nil {
		d.undoOne(run, f)
		return true
	}
	jobsTookIt = d.release(run, f)
	if d.state().PendingRetry == run.ID {
		d.emit(&eventlog.RetryCleared{Run: run.ID})
	}
	d.unblockUncertain(run)
	return jobsTookIt
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

// unblock ends the system's hold if it is for one of the reasons.
func (d *decision) unblock(reasons ...eventlog.BlockReason) {
	if b := d.state().Blocked; b != nil && slices.Contains(reasons, b.Reason) {
		d.emit(&eventlog.WorkflowUnblocked{})
	}
}

// leaveUncertain ends the active run whose mutation may or may not have happened: events stay
// reserved, the workflow is held, and finding out goes on in the background (R16a, F5).
func (d *decision) leaveUncertain(run *projections.Run, m *projections.Mutation, f eventlog.Failure,
	overAt eventlog.Instant) {
	d.kind = "run.failed"
	d.emit(&eventlog.RunFailed{Run: run.ID, Status: eventlog.RunPausedReconcile, Failure: f})
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

// believed is the report as far as it is taken for true: while something of the call may be under way,
// it may still take effect after its connector has found no trace of it. Such a "failed" says no more
// than "not known yet" (F5).
func (c SettleMutation) believed() SettleMutation {
	if c.By != eventlog.ResolvedByReconcile || c.Outcome.Status != Failed || !c.UnderWay {
		return c
	}
	f := uncertainty(c.Outcome.Failure)
	until := "its request is still open"
	if c.OverAt != 0 {
		until = "something of it may be under way until " + c.OverAt.String()
	}
	c.Outcome = Settlement{Failure: failure(eventlog.Transient, "mutation.underWay", "%s",
		joined(strings.TrimSuffix(f.Message, "."), "; that does not count yet, ", until))}
	return c
}

// over is when nothing of the call can be under way any more, as far as the report knows: 0 while its exchange
// is open, and for a report that did not look.
func (c SettleMutation) over(now eventlog.Instant) eventlog.Instant {
	switch {
	case c.UnderWay:
		return c.OverAt
	case c.By == eventlog.ResolvedByReconcile:
		return now
	}
	return 0
}

// asks reports whether the mutation's connector will be asked what became of it (F5).
func (d *decision) asks(m *projections.Mutation) bool {
	return m.Call.Reconciles && d.env.Policies.Reconcile.Attempts > 0
}

// firstReconcile lies past the call's own deadline by wall clock, and as long again after the record was
// first read, whichever is later: the caller's clock may be behind. That another process's call was applied
// is believed from then on. That it was not, and what a person says, counts once nothing of it can be under
// way any more: from overAt on for an own call, 0 while that is not known.
func (d *decision) firstReconcile(m *projections.Mutation, f eventlog.Failure,
	overAt eventlog.Instant) *eventlog.MutationReconcileScheduled {
	timeout := time.Duration(m.Call.TimeoutMS) * time.Millisecond
	byClock := d.afterDeadline(m)
	if m.Engine == d.env.Engine {
		// Our own call has ended: its deadline alone counts, plus the usual wait.
		at := max(byClock, d.env.Now.Add(d.env.Policies.Reconcile.Delay(1, d.env.Jitter)))
		return &eventlog.MutationReconcileScheduled{Mutation: m.ID, At: at, Failure: f, OverAt: overAt}
	}
	at := max(byClock, d.env.Now.Add(timeout+ReconcileMargin))
	overAt = at.Add(d.env.Unseen)
	if !d.asks(m) {
		at = overAt // nothing can come of it before
	}
	return &eventlog.MutationReconcileScheduled{Mutation: m.ID, At: at, Failure: f, OverAt: overAt}
}

// afterDeadline is when the mutation's deadline has passed by every clock. Of a call whose writer's clock
// was ahead of this one the deadline says nothing: waiting for it could take years.
func (d *decision) afterDeadline(m *projections.Mutation) eventlog.Instant {
	if m.StartedAt > d.env.Now.Add(ReconcileMargin) {
		return 0
	}
	return m.Deadline.Add(ReconcileMargin)
}

// askAgain counts a background attempt that found nothing out (F5). One that was made while something
// of the call could be under way counts for nothing: the next comes when that is over, and before it
// now and then, since the answer may be that it was applied.
func (d *decision) askAgain(run *projections.Run, m *projections.Mutation, c SettleMutation) {
	f := c.found(run, uncertainty(c.Outcome.Failure))
	if !d.asks(m) && m.Failure != nil {
		f = *m.Failure // no connector was asked
	}
	p := d.env.Policies.Reconcile
	if c.UnderWay {
		at := d.env.Now.Add(max(p.Delay(1, d.env.Jitter), min(d.env.Now.Sub(m.Deadline), p.Max)))
		if c.OverAt != 0 && (c.OverAt < at || !d.asks(m)) {
			at = max(c.OverAt, d.env.Now)
		}
		d.lead(&eventlog.MutationReconcileScheduled{
			Mutation: m.ID, Attempt: counted(m), At: at, Failure: f, OverAt: c.OverAt,
		})
		return
	}
	attempt := counted(m) + 1
	if !d.asks(m) || attempt >= p.Attempts {
		d.leaveIndeterminate(m, m.Run, f)
		d.kind = "mutation.left_indeterminate"
		return
	}
	wait := p.Delay(attempt+1, d.env.Jitter)
	d.lead(&eventlog.MutationReconcileScheduled{
		Mutation: m.ID, Attempt: attempt, At: d.env.Now.Add(wait), Failure: f, OverAt: d.env.Now,
	})
}

// counted is how many attempts have been made to find out, after the call was over. Attempts without
// that time are an older version's, which counted while the call was open: they prove nothing (F5).
func counted(m *projections.Mutation) int {
	if m.OverAt == 0 {
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
		case eventlog.MutationAwaitingApproval:
			reason = eventlog.HeldApproval
		case eventlog.MutationIndeterminate:
			reason = eventlog.HeldIndeterminate
		}
		d.holdEvent(r, d.own(r), reason)
		return
	}
	switch m.Status {
	case eventlog.MutationAwaitingApproval:
		d.block(eventlog.BlockApproval, run, "%s.%s awaits approval", m.Call.Connector, m.Call.Operation)
	case eventlog.MutationIndeterminate:
		d.block(eventlog.BlockIndeterminate, run,
			"it is not known whether %s.%s was applied; a person must look and resolve mutation %s", m.Call.Connector,
			m.Call.Operation, m.ID)
	default:
		then := "its connector is being asked"
		if !d.asks(m) {
			then = "a person decides once nothing of the call can be under way any more"
		}
		d.block(eventlog.BlockReconcile, run, "%s.%s may or may not have been applied; %s", m.Call.Connector,
			m.Call.Operation, then)
	}
}

// contradict notes a late answer that differs from a final outcome: nothing changes but that the
// workflow stops for a person (F12).
func (d *decision) contradict(m *projections.Mutation, c SettleMutation) error {
	outcome := ""
	switch {
	case c.Outcome.Status == Applied && m.Status != eventlog.MutationStatusApplied:
		outcome = "applied"
	case c.Outcome.Status == Failed && m.Status != eventlog.MutationStatusFailed:
		outcome = "failed"
	default:
		return ErrStale
	}
	if m.Contradiction == outcome {
		return ErrStale
	}
	d.lead(&eventlog.MutationContradicted{Mutation: m.ID, Outcome: outcome, Result: c.Outcome.Result,
		Failure: c.Outcome.Failure})
	d.block(eventlog.BlockContradiction, m.Run, "mutation %s is recorded as %s, but a late answer says %s", m.ID, m.Status,
		outcome)
	return nil
}

func uncertainty(f *eventlog.Failure) eventlog.Failure {
	if f != nil {
		return *f
	}
	return *failure(eventlog.Transient, "mutation.uncertain", "the call's outcome is not known")
}

// found is what a reconcile found out, behind what the call itself came to: that is what a person
// has to look at. What follows from the failure is up to the finding, so its class and code stay.
func (c SettleMutation) found(run *projections.Run, f eventlog.Failure) eventlog.Failure {
	if c.By != eventlog.ResolvedByReconcile {
		return f
	}
	call := c.CallFailure
	if call == nil && run.Status == eventlog.RunPausedReconcile {
		call = run.Failure // the run has ended with it, and keeps it
	}
	if call == nil || call.Message == "" {
		return f
	}
	f.Message = joined(strings.TrimSuffix(call.Message, "."), "; reconcile: ", f.Message)
	return f
}

// joined bounds two messages in one: where both are long, each has half of the room.
func joined(first, link, second string) string {
	room := eventlog.MaxMessage - len(link)
	second = eventlog.Clip(second, max(room/2, room-len(first)))
	return eventlog.Clip(first, room-len(second)) + link + second
}
