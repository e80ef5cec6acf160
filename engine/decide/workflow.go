package decide

import (
	"maps"
	"slices"

	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// What a person can do to a workflow. Each is a transition with the actor's name (O10).
type (
	// Pause holds the workflow at the next run boundary (O6).
	Pause struct{}
	// Resume ends the pause, clears the system's hold, except an unresolved mutation (O6), and frees the events that are
	// held for a person (C5). KeepRepairBudget is that of Deploy.
	Resume struct{ KeepRepairBudget bool }
	// Archive stops the workflow for good (O6).
	Archive struct{}
	// SetGrants replaces the workflow's grants.
	SetGrants struct{ Grants map[string]eventlog.Grant }
	// ChangeGrants changes the grants that it names and leaves the others as they are at that
	// moment: two people can change different grants at the same time, and both changes hold.
	// A nil grant takes one out.
	ChangeGrants struct {
		Changes map[string]*eventlog.Grant
	}
)

func (Pause) decide(d *decision) error {
	s := d.state()
	if s.Archived {
		return refuseArchived(s)
	}
	if s.Pause == nil {
		d.emitNaming(&eventlog.WorkflowPaused{})
	}
	return nil
}

func (c Resume) decide(d *decision) error {
	s := d.state()
	switch {
	case s.Archived:
		return refuseArchived(s)
	case c.KeepRepairBudget && RepairsSpent(s, d.env.Policies.Repair.Budget):
		return refuseSpent(s)
	}
	if s.Pause != nil {
		d.emitNaming(&eventlog.WorkflowResumed{})
	}
	if b := s.Blocked; b != nil && b.Reason != eventlog.BlockReconcile && b.Reason != eventlog.BlockIndeterminate &&
		b.Reason != eventlog.BlockApproval {
		d.emit(&eventlog.WorkflowUnblocked{})
		// What the contradiction's hold kept from being set is set now.
		if run := s.RetryRun(); run != nil {
			if m := s.Mutation(run.Mutation); m != nil && m.Status.Unresolved() {
				d.holdFor(m, run.ID)
			}
		}
		if run := s.CurrentRun(); run != nil && run.Status == eventlog.RunStatusPausedApproval {
			d.holdFor(s.Mutation(run.Mutation), run.ID)
		}
	}
	if s.Backoff != nil {
		d.emit(&eventlog.BackoffCleared{}) // resume restarts the budget (F8)
	}
	for _, c := range s.Definition().Consumers {
		if h := s.Handler(c.Name); h != nil && h.Failures > 0 {
			d.emit(&eventlog.HandlerFailuresCounted{Handler: h.Name})
		}
	}
	if s.RepairFailures > 0 && !c.KeepRepairBudget {
		d.emit(&eventlog.RepairCounted{}) // and that of repairs (F9)
	}
	d.freeAtResume(!c.KeepRepairBudget)
	return nil
}

// endBackoffs makes due at once what a concurrent consumer tries again by itself, and ends its probing: a person says
// that the target works again, whatever it has asked for (F8, F13). What fails next waits as long as it would have.
func (d *decision) endBackoffs(h *projections.Handler) {
	waits := func(ref eventlog.EventRef) bool {
		e := d.event(ref.Topic, ref.MessageID)
		return e != nil && e.BacksOff() && e.ScheduledAt > d.env.Now
	}
	if h.Probing == nil && slices.ContainsFunc(d.state().ScheduledFor(h.Name), waits) {
		d.emit(&eventlog.HandlerProbingEnded{Handler: h.Name}) // one fact for all, however many they are
	}
	d.endProbing(h)
	var later []*projections.Run // collected first: each fact changes their order
	for run, at := range d.state().Returning(h.Name) {
		if run.Owes && at > d.env.Now {
			later = append(later, run)
		}
	}
	for _, run := range later {
		d.emit(&eventlog.RunRetryOwed{Run: run.ID, Attempt: run.Tries, Attention: run.Attention != 0})
	}
}

// decide of Archive lets nothing leave any more: a call that awaits approval is refused, a run
// that has not come to its call is aborted. What may have left already is settled as always, and a run past its
// mutation completes (O6, O7).
func (Archive) decide(d *decision) error {
	s := d.state()
	if s.Archived {
		return nil
	}
	d.emitNaming(&eventlog.WorkflowArchived{})
	runs := slices.Collect(s.OpenRuns())
	if run := s.CurrentRun(); run != nil {
		runs = append(runs, run)
	}
	for _, run := range runs {
		d.stopRun(run)
	}
	return nil
}

// stopRun ends a run of a workflow that is archived, unless it has come too far.
func (d *decision) stopRun(run *projections.Run) {
	if d.err != nil || run.EndedAt != 0 || run.Phase.PastMutation() {
		return
	}
	m := d.state().Mutation(run.Mutation)
	switch {
	case m == nil:
		d.abort(run, "the workflow was archived")
	case m.Status == eventlog.MutationStatusAwaitingApproval:
		d.withdraw(run, m, eventlog.ResolvedByUserReject, "the workflow was archived")
	}
}

// withdraw ends a call that awaits approval, and its run: nothing has left (O7).
func (d *decision) withdraw(run *projections.Run, m *projections.Mutation, by, why string) {
	d.emit(&eventlog.MutationFailed{
		Mutation: m.ID, Run: run.ID, ResolvedBy: by,
		Failure: *failure(eventlog.Transient, Aborted, "%s.%s was never sent: %s", m.Call.Connector, m.Call.Operation, why),
	})
	d.abort(run, "%s", why)
	if run.Event == nil { // the approval of an event's call holds only that event (C5)
		d.unblock(eventlog.BlockApproval)
	}
}

func (c SetGrants) decide(d *decision) error {
	if s := d.state(); s.Archived {
		return refuseArchived(s)
	}
	d.emitNaming(&eventlog.WorkflowGranted{Grants: c.Grants})
	return nil
}

func (c ChangeGrants) decide(d *decision) error {
	s := d.state()
	if s.Archived {
		return refuseArchived(s)
	}
	grants := make(map[string]eventlog.Grant, len(s.Grants)+len(c.Changes))
	maps.Copy(grants, s.Grants)
	for capability, grant := range c.Changes {
		if grant == nil {
			delete(grants, capability)
		} else {
			grants[capability] = *grant
		}
	}
	if maps.Equal(grants, s.Grants) {
		return nil
	}
	d.emitNaming(&eventlog.WorkflowGranted{Grants: grants})
	return nil
}

func refuseArchived(s *projections.State) *Refusal {
	return refuse(Conflict, "workflow.archived", "workflow %s is archived", s.Name).
		hint(hint.Archived, s.Name)
}

// Restore records that the workflow's past was restored from a backup, and pauses it until a person resumes it: what
// was sent after the backup is not known here. With the installation it revokes every named token and closes every
// login, since a revocation may be among what the backup does not hold. An archived workflow stays as it is.
type Restore struct{ Fact eventlog.LogRestored }

func (c Restore) decide(d *decision) error {
	d.emitNaming(&c.Fact)
	for _, token := range slices.Clone(d.state().Tokens) {
		d.emit(&eventlog.TokenRevoked{Name: token.Name})
	}
	d.closeLogins(func(projections.Login) bool { return true })
	return nil
}
