package decide

import (
	"encoding/json"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// SettleMutation reports what became of a mutation.
type SettleMutation struct {
	Mutation eventlog.MutationID
	Outcome  Settlement
	// By is empty for the call's own answer, else one of the eventlog.ResolvedBy values.
	By string
	// CallFailure is what the call itself came to when its caller has asked at once (F5).
	CallFailure *eventlog.Failure
	// UnderWay, of a reconcile's answer: when it was asked, something of the call could still have
	// been under way. OverAt is when nothing of it can be any more, 0 while its exchange is open:
	// then that is not known. The call's own "not known" says OverAt too, also where the call is over already.
	UnderWay bool
	OverAt   eventlog.Instant
	// Resent says that this is what came of a resend, which was counted when it was recorded.
	Resent bool
}

// SettlementStatus is what became of a call.
type SettlementStatus int

// The settlements. Uncertain is the zero value: an outcome that was not set never leads to a second request.
const (
	Uncertain SettlementStatus = iota
	Applied
	Failed
)

// Settlement is the outcome of a call or of a reconcile.
type Settlement struct {
	Status  SettlementStatus
	Result  json.RawMessage
	Failure *eventlog.Failure
}

// decide of SettleMutation always records what became of a known mutation, whatever the status of
// its run. A final outcome is never changed (F12).
func (c SettleMutation) decide(d *decision) error {
	s := d.state()
	m, err := d.mutationByID(c.Mutation)
	if err != nil {
		return err
	}
	c = c.believed(m)
	if m.Status.Final() {
		return d.contradict(m, c)
	}
	if m.Status == eventlog.MutationStatusAwaitingApproval {
		return ErrStale // nothing was ever sent
	}
	run := s.Run(m.Run)
	if run == nil {
		d.ask(projections.RunKey(m.Run))
		return nil
	}
	_, active := d.active(run.ID)
	switch {
	case c.Outcome.Status == Applied:
		d.applied(run, m, c, active)
	case c.Outcome.Status == Failed:
		d.failed(run, m, c, active)
	case active:
		d.leaveUncertain(run, m, c.found(run, uncertainty(c.Outcome.Failure)), c.over(d.env.Now))
	case m.Status == eventlog.MutationStatusNeedsReconcile && c.By == eventlog.ResolvedByReconcile:
		d.askAgain(run, m, c)
	default:
		// The call's own "not known" says nothing new, and the inline attempt does not count (F5).
		return ErrStale
	}
	return nil
}

// believed is the report as far as it is taken for true. A "failed" then says no more than "not known yet":
//   - while something of the call may be under way: it may still take effect after its connector has found no trace of
//     it (F5);
//   - if the connector could not be asked when the call was made: the other side may not have kept the key, and then
//     finds no trace of what it has done (O3);
//   - after a resend, unless it answers a resend: the other answers know of one request only.
func (c SettleMutation) believed(m *projections.Mutation) SettleMutation {
	if c.Outcome.Status == Failed && m.ResentAt != 0 && !c.Resent {
		c.Outcome = Settlement{Failure: c.Outcome.Failure}
		return c
	}
	if c.By != eventlog.ResolvedByReconcile || c.Outcome.Status != Failed || !c.UnderWay && !m.BecameAskable {
		return c
	}
	f := uncertainty(c.Outcome.Failure)
	if !c.UnderWay {
		c.Outcome = Settlement{Failure: failure(eventlog.Transient, "mutation.noTrace", "%s",
			joined(strings.TrimSuffix(f.Message, "."), "; that is no proof, since the connector could not be asked when the "+
				"call was made, ", "and may not have kept its key"))}
		return c
	}
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
	if c.By == eventlog.ResolvedByReconcile && !c.UnderWay {
		return now
	}
	return c.OverAt
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
	d.emitNaming(&eventlog.MutationContradicted{Mutation: m.ID, Outcome: outcome, Result: c.Outcome.Result,
		Failure: c.Outcome.Failure})
	d.block(eventlog.BlockContradiction, m.Run, "mutation %s is recorded as %s, but a late answer says %s", m.ID, m.Status,
		outcome)
	return nil
}

func (d *decision) applied(run *projections.Run, m *projections.Mutation, c SettleMutation, active bool) {
	result := c.Outcome.Result
	if result == nil {
		result = []byte("null")
	}
	d.emitNaming(&eventlog.MutationApplied{Mutation: m.ID, Run: run.ID, Result: result, ResolvedBy: c.By})
	d.countCertain(run, m)
	d.emit(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseMutated})
	if active {
		// An inline settlement goes on in the same run (R15).
		d.emit(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseEmitting})
		if consumer := d.consumer(run); !consumer.HasNext && d.err == nil {
			d.commitHere(run.ID)
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
	neverSent := c.By == eventlog.ResolvedByNeverSent
	if d.outOfRow = neverSent; !neverSent {
		d.countCertain(run, m)
	}
	// A call that was open when its process ended is a crash, also when it turns out later that it did not happen (J6).
	call := c.callFailure(run)
	d.crashed = call != nil && call.OwnFault()
	d.ours = d.crashed || neverSent && f.Class == eventlog.Transient
	if active && neverSent && f.Code == Aborted {
		d.abort(d.state().Run(run.ID), "%s", f.Message)
		return
	}
	if active {
		d.fail(d.state().Run(run.ID), f)
		return
	}
	if d.undo(run, f) || run.Event != nil {
		return
	}
	// Being settled unblocks by itself (O4), so its class makes no new hold, only a back-off; a fresh run meets the
	// cause again if it lasts.
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

// askAgain counts a background attempt that found nothing out (F5). One that was made while something
// of the call could be under way counts for nothing: the next comes when that is over, and before it
// now and then, since the answer may be that it was applied. A question that a bound of this engine held back counts
// for nothing either: it comes again when its turn does, and no later than the policy's longest pause.
func (d *decision) askAgain(run *projections.Run, m *projections.Mutation, c SettleMutation) {
	f := c.found(run, uncertainty(c.Outcome.Failure))
	if !d.asks(m) && m.Failure != nil {
		f = *m.Failure // no connector was asked
	}
	p := d.env.Policies.Reconcile
	if c.UnderWay {
		at := d.env.Now.Add(max(p.Delay(1, d.env.Jitter), min(d.env.Now.Sub(m.Deadline), p.Max)))
		if c.OverAt != 0 && (c.OverAt < at || !d.learnsEarly(m)) {
			at = max(c.OverAt, d.env.Now)
		}
		d.emitNaming(&eventlog.MutationReconcileScheduled{
			Mutation: m.ID, Attempt: counted(m), At: at, Failure: f, OverAt: c.OverAt,
		})
		return
	}
	if d.asks(m) && f.Code == eventlog.CodeHeldBack {
		// The question was not sent because of a bound of this engine, so the connector's target was not asked (F13).
		at := d.env.Now.Add(min(max(retryAfter(f), p.Delay(1, d.env.Jitter)), p.Max))
		d.emitNaming(&eventlog.MutationReconcileScheduled{
			Mutation: m.ID, Attempt: counted(m), At: at, Failure: f, OverAt: d.env.Now,
		})
		return
	}
	attempt := counted(m)
	if !c.Resent {
		attempt++
	}
	if !d.asks(m) || attempt >= p.Attempts {
		d.leaveIndeterminate(m, m.Run, f)
		d.kind = "mutation.left_indeterminate"
		return
	}
	wait := d.untilAsked(m, f, p.Delay(attempt+1, d.env.Jitter))
	d.emitNaming(&eventlog.MutationReconcileScheduled{
		Mutation: m.ID, Attempt: attempt, At: d.env.Now.Add(wait), Failure: f, OverAt: d.env.Now,
	})
}

// found is the failure that a reconcile found out. Its message begins with that of the call itself, which a person has
// to look at. Its class and code are those of the finding, which decides what follows.
func (c SettleMutation) found(run *projections.Run, f eventlog.Failure) eventlog.Failure {
	call := c.callFailure(run)
	if call == nil || call.Message == "" {
		return f
	}
	f.Message = joined(strings.TrimSuffix(call.Message, "."), "; reconcile: ", f.Message)
	return f
}

// callFailure is what the call itself came to, where a reconcile has found out what became of it; nil where nothing is
// known of that.
func (c SettleMutation) callFailure(run *projections.Run) *eventlog.Failure {
	switch {
	case c.By != eventlog.ResolvedByReconcile:
		return nil
	case c.CallFailure == nil && run.Status == eventlog.RunStatusPausedReconcile:
		return run.Failure // the run has ended with it, and keeps it
	}
	return c.CallFailure
}
