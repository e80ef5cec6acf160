package decide

import (
	"encoding/json"

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
