package decide

import (
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Resolve says what became of an indeterminate mutation (O1-O4).
type Resolve struct {
	Mutation   eventlog.MutationID
	Resolution Resolution
	// Result is what next is given when it happened, as JSON; nil means null.
	Result  json.RawMessage
	Comment string
}

// Resolution is a person's word on an indeterminate mutation.
type Resolution string

// The resolutions.
const (
	DidHappen    Resolution = "did_happen"     // O4
	DidNotHappen Resolution = "did_not_happen" // O1
	Skip         Resolution = "skip"           // O2
	TryAgain     Resolution = "try_again"      // O3
)

func (c Resolve) decide(d *decision) error {
	m, err := d.mutationByID(c.Mutation)
	if err != nil {
		return err
	}
	s := d.state()
	if m.Status != eventlog.MutationStatusIndeterminate {
		return unresolvable(m)
	}
	run := s.Run(m.Run)
	if run == nil || s.PendingRetry != run.ID && !run.Owes {
		return refuse(Conflict, "mutation.state", "mutation %s is not held by a run of %s", m.ID,
			s.Name).hint(hint.Waits, s.Name)
	}
	if c.Result != nil && c.Resolution != DidHappen {
		return refuse(Invalid, "resolution.result", "a result belongs to did_happen, and the resolution is %q", c.Resolution).
			hint(hint.NoResult)
	}
	if c.Result != nil && !json.Valid(c.Result) {
		return refuse(Invalid, "resolution.result",
			"the result is not JSON").hint(hint.JSONResult)
	}
	if eventlog.Deeper(c.Result, eventlog.MaxDepth) {
		return refuse(Invalid, codeTooDeep, "the result is nested too deep: JSON may have %d levels", eventlog.MaxDepth).
			hint(hint.Flatter)
	}
	if eventlog.TooLarge(c.Result) {
		return refuse(Invalid, codeNumber, "the result has a number that is too large for scripts").hint(hint.NumberAsText)
	}
	if no := commentable(c.Comment); no != nil {
		return no
	}
	switch c.Resolution {
	case DidHappen:
		result := c.Result
		if result == nil {
			result = []byte("null")
		}
		d.emitNaming(&eventlog.MutationApplied{Mutation: m.ID, Run: run.ID, Result: result,
			ResolvedBy: eventlog.ResolvedByUserApplied})
		d.comment(m.ID, c.Comment)
		d.countCertain(run, m)
		d.emit(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseMutated})
		d.unblockUncertain(run)
	case DidNotHappen:
		if d.env.MayTakeEffect {
			return refuse(Conflict, "mutation.open",
				"the request of mutation %s may still be open: what it asks for can take effect yet, and a new run would ask "+
					"for it again", m.ID).
				hint(hint.MayTakeEffect, m.ID)
		}
		d.emitNaming(&eventlog.MutationFailed{
			Mutation: m.ID, Run: run.ID, ResolvedBy: eventlog.ResolvedByUserFailed,
			Failure: *failure(eventlog.Transient, "mutation.assertedFailed", "%s says that %s.%s did not happen",
				d.env.Actor.Name, m.Call.Connector, m.Call.Operation),
		})
		d.comment(m.ID, c.Comment)
		d.countCertain(run, m)
		d.undo(run, uncharged)
	case Skip:
		d.emitNaming(&eventlog.MutationSkipped{Mutation: m.ID, Run: run.ID, ResolvedBy: eventlog.ResolvedByUserSkip})
		d.comment(m.ID, c.Comment)
		d.countCertain(run, m)
		d.skipEventsOf(run, "mutation skipped")
		d.emit(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseMutated})
		d.unblockUncertain(run)
	case TryAgain:
		// A connector that could not be asked when the call was made may be able to answer now.
		if no := CannotAskAgain(s, m, d.env.Asking, d.env.Policies.Reconcile.Attempts, d.env.Now); no != nil {
			return no
		}
		f := uncertainty(m.Failure)
		// Never before the call's own end: an answer then could still be overtaken by it.
		at := max(d.env.Now, d.afterDeadline(m))
		d.emitNaming(&eventlog.MutationReconcileScheduled{Mutation: m.ID, At: at, Failure: f, OverAt: m.OverAt,
			Reconciles: !m.Call.Reconciles})
		d.comment(m.ID, c.Comment)
		d.holdFor(m, run.ID)
	default:
		return refuse(Invalid, "resolution.unknown", "resolution %q is none of did_happen, did_not_happen, skip, try_again",
			c.Resolution).hint(hint.Resolutions)
	}
	return nil
}

// unresolvable refuses to resolve a mutation that is not indeterminate, and says what can be done about it.
func unresolvable(m *projections.Mutation) *Refusal {
	no := refuse(Conflict, "mutation.state", "mutation %s is %s; only an indeterminate one can be resolved by a person",
		m.ID, m.Status)
	switch {
	case m.Status == eventlog.MutationStatusAwaitingApproval:
		return no.hint(hint.ApproveOrReject, m.ID)
	case m.Status.Final():
		return no.hint(hint.Settled, m.ID)
	case m.Status != eventlog.MutationStatusNeedsReconcile:
		return no.hint(hint.CallOpen)
	case m.Call.Reconciles:
		return no.hint(hint.Reconciling, m.ReconcileAt)
	}
	return no.hint(hint.UnderWay, m.ReconcileAt)
}

// Asking is how it can be found out now what became of a call, by the configuration as it is now.
type Asking struct {
	// Present says that the operation of the call is there now.
	Present bool
	// Reconciles says that there is a way to find out what became of such a call.
	Reconciles bool
	// Resends is for how long after its start such a call may be sent again to find out; 0 where its connector is asked.
	Resends time.Duration
}

// CannotAskAgain says why nothing would come of trying again to find out what became of the mutation's call (O3); nil
// where something may. Both the refusal and the offer to a person come from here.
func CannotAskAgain(s *projections.State, m *projections.Mutation, how Asking, attempts int,
	now eventlog.Instant) *Refusal {
	no := func(format string, args ...any) *Refusal {
		return refuse(Conflict, "mutation.noReconcile", format, args...).hint(hint.FindOut, m.ID)
	}
	call := m.Call.Connector + "." + m.Call.Operation
	switch {
	case !how.Present:
		return no("%s is not there now, so nothing can say what became of its call; it has to be there first", call)
	case !how.Reconciles && m.Call.Reconciles:
		return no("%s cannot be asked any more what became of its call: the reconcile with which the call was made is not "+
			"configured now, and would have to be put back", call)
	case !how.Reconciles:
		return no("%s cannot be asked what became of it", call)
	case attempts <= 0:
		return no("policies.reconcile.attempts is 0: it is never asked what became of a call")
	case how.Resends > 0 && !m.Call.Resends():
		return no("the host of %s is not asked: its calls are sent again (reconcile.resend), and this one was made before "+
			"that was configured", call)
	case how.Resends == 0 && m.Call.Resends():
		return no("this call of %s can only be sent again (reconcile.resend), which its host is not configured for any "+
			"more; that would have to be put back", call)
	case !m.Call.Resends():
		return nil
	}
	if why := notResent(s, m, how.Resends, now); why != "" {
		return no("the call is not sent again, since %s", why)
	}
	return nil
}

// notResent says why the call is never sent again, now or later; empty where it may be (F5). promised is for how long
// after its start the other side knows its key.
func notResent(s *projections.State, m *projections.Mutation, promised time.Duration, now eventlog.Instant) string {
	promised = min(promised, time.Duration(m.Call.ResendMS)*time.Millisecond)
	switch {
	case s.Archived:
		return "the workflow is archived"
	case m.StartedAt > now.Add(ReconcileMargin):
		return "by this machine's clock its start lies ahead"
	case m.StartedAt.Add(promised-ResendMargin) <= now:
		return "reconcile.within of its host has passed"
	}
	return ""
}
