package decide

import (
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// What a person can do to a workflow. Each is a transition with the actor's name (O10).
type (
	// Pause holds the workflow at the next run boundary (O6).
	Pause struct{}
	// Resume ends the pause and clears the system's hold, except an unresolved mutation (O6).
	Resume struct{}
	// Archive stops the workflow for good (O6).
	Archive struct{}
	// SetGrants replaces the workflow's grants.
	SetGrants struct{ Grants map[string]eventlog.Grant }
	// ChangeGrants changes the grants that it names and leaves the others as they are at that
	// moment: two people who change different grants at the same time both get what they asked for.
	// A nil grant takes one out.
	ChangeGrants struct {
		Changes map[string]*eventlog.Grant
	}
	// Approve lets exactly the recorded call leave (O5).
	Approve struct {
		Mutation eventlog.MutationID
		// ParamsHash, if set, must be the recorded one: what the person looked at.
		ParamsHash string
		// Comment is what the person says with it, empty for nothing; at most MaxComment bytes.
		Comment string
	}
	// Reject goes on without the call (O5).
	Reject struct {
		Mutation eventlog.MutationID
		Comment  string
	}
	// Resolve says what became of an indeterminate mutation (O1-O4).
	Resolve struct {
		Mutation   eventlog.MutationID
		Resolution Resolution
		// Result is what next is given when it happened, as JSON; nil means null.
		Result  json.RawMessage
		Comment string
	}
)

// MaxComment bounds a comment in bytes: it becomes part of the log.
const MaxComment = 4 << 10

// comment notes in this transition what the person has said with the decision.
func (d *decision) comment(m eventlog.MutationID, text string) {
	if text != "" && d.err == nil {
		d.emit(&eventlog.MutationCommented{Mutation: m, Comment: text})
	}
}

// commentable refuses a comment that the log cannot take.
func commentable(text string) *Refusal {
	if len(text) > MaxComment || !utf8.ValidString(text) {
		return refuse(Invalid, "comment.invalid", "the comment has %d bytes; it must be text of at most %d", len(text),
			MaxComment).
			hint(hint.Comment)
	}
	return nil
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

func (Pause) names(*projections.State, func(projections.Key))        {}
func (Resume) names(*projections.State, func(projections.Key))       {}
func (Archive) names(*projections.State, func(projections.Key))      {}
func (SetGrants) names(*projections.State, func(projections.Key))    {}
func (ChangeGrants) names(*projections.State, func(projections.Key)) {}
func (c Approve) names(_ *projections.State, want func(projections.Key)) {
	want(projections.MutationKey(c.Mutation))
}

func (c Reject) names(s *projections.State, want func(projections.Key)) {
	want(projections.MutationKey(c.Mutation))
	namesOfCommit(s, s.Current, want)
	if m := s.Mutation(c.Mutation); m != nil {
		namesOfCommit(s, m.Run, want)
	}
}

func (c Resolve) names(_ *projections.State, want func(projections.Key)) {
	want(projections.MutationKey(c.Mutation))
}

func refuseArchived(s *projections.State) *Refusal {
	return refuse(Conflict, "workflow.archived", "workflow %s is archived", s.Name).
		hint(hint.Archived, s.Name)
}

func (Pause) decide(d *decision) error {
	s := d.state()
	if s.Archived {
		return refuseArchived(s)
	}
	if s.Pause == nil {
		d.lead(&eventlog.WorkflowPaused{})
	}
	return nil
}

func (Resume) decide(d *decision) error {
	s := d.state()
	if s.Archived {
		return refuseArchived(s)
	}
	if s.Pause != nil {
		d.lead(&eventlog.WorkflowResumed{})
	}
	if b := s.Blocked; b != nil && b.Reason != eventlog.BlockReconcile && b.Reason != eventlog.BlockIndeterminate &&
		b.Reason != eventlog.BlockApproval {
		d.emit(&eventlog.WorkflowUnblocked{})
		// What a contradiction stood in front of holds on.
		if run := s.RetryRun(); run != nil {
			if m := s.Mutation(run.Mutation); run.Mutation != "" && m != nil && m.Status.Unresolved() {
				d.holdFor(m, run.ID)
			}
		}
		if run := s.CurrentRun(); run != nil && run.Status == eventlog.RunPausedApproval {
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
	if s.RepairFailures > 0 {
		d.emit(&eventlog.RepairCounted{}) // and that of repairs (F9)
	}
	d.freeAtResume()
	return nil
}

// decide of Archive lets nothing leave any more: a call that awaits approval is refused, a run
// that has not come to its call is aborted. What may have left already is settled as ever, and a
// run past its mutation completes (O6, O7).
func (Archive) decide(d *decision) error {
	s := d.state()
	if s.Archived {
		return nil
	}
	d.lead(&eventlog.WorkflowArchived{})
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
	case run.Mutation == "" || m == nil:
		d.abort(run, "the workflow was archived")
	case m.Status == eventlog.MutationAwaitingApproval:
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
	d.unblock(eventlog.BlockApproval)
}

func (c SetGrants) decide(d *decision) error {
	if s := d.state(); s.Archived {
		return refuseArchived(s)
	}
	d.lead(&eventlog.WorkflowGranted{Grants: c.Grants})
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
	d.lead(&eventlog.WorkflowGranted{Grants: grants})
	return nil
}

func (d *decision) mutationByID(id eventlog.MutationID) (*projections.Mutation, error) {
	if m := d.state().Mutation(id); m != nil {
		return m, nil
	}
	d.demand(projections.MutationKey(id))
	return nil, refuse(NotFound, "mutation.unknown", "workflow %s has no mutation %q", d.state().Name,
		id).hint(hint.Mutations)
}

func (c Approve) decide(d *decision) error {
	m, run, err := d.awaiting(c.Mutation, "approved")
	if err != nil {
		return err
	}
	if no := commentable(c.Comment); no != nil {
		return no
	}
	s := d.state()
	switch d.env.Hold {
	case HeldByDamage:
		return refuse(Conflict, "workflow.damaged", "the log of workflow %s is damaged: nothing of it may leave",
			s.Name).hint(hint.Why, s.Name)
	case HeldByEngine:
		return refuse(Conflict, "engine.held", "nothing may leave workflow %s now: the engine is stopping or short of space",
			s.Name).hint(hint.ApproveLater)
	}
	if s.Pause != nil {
		return refuse(Conflict, "workflow.paused", "workflow %s is paused; nothing may leave it",
			s.Name).hint(hint.Resume, s.Name)
	}
	if c.ParamsHash != "" && c.ParamsHash != m.Call.ParamsHash {
		return refuse(Conflict, "approval.changed", "mutation %s awaits approval of other parameters (hash %s)", m.ID,
			m.Call.ParamsHash).
			hint(hint.ApproveRecorded, m.ID)
	}
	// One transition, and the barrier: a crash after it is a crash in flight.
	d.emit(&eventlog.MutationApproved{Mutation: m.ID, ParamsHash: m.Call.ParamsHash})
	d.comment(m.ID, c.Comment)
	if run.Event != nil {
		d.freeEvent(run) // it starts with its place (C3)
		return nil
	}
	d.emit(&eventlog.RunReactivated{Run: run.ID, Engine: d.env.Engine})
	d.unblock(eventlog.BlockApproval)
	d.startMutation(run, m.ID, m.Call)
	return nil
}

func (c Reject) decide(d *decision) error {
	m, run, err := d.awaiting(c.Mutation, "rejected")
	if err != nil {
		return err
	}
	if no := commentable(c.Comment); no != nil {
		return no
	}
	d.lead(&eventlog.MutationSkipped{Mutation: m.ID, Run: run.ID, ResolvedBy: eventlog.ResolvedByUserReject})
	d.comment(m.ID, c.Comment)
	if run.Event != nil {
		d.skipHeld(run, "rejected")
		d.emit(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseMutated}) // next comes with its place (C3)
		return nil
	}
	d.emit(&eventlog.RunReactivated{Run: run.ID, Engine: d.env.Engine})
	d.unblock(eventlog.BlockApproval)
	d.skipHeld(run, "rejected")
	d.passMutation(run.ID)
	err = d.emitNext(run.ID, d.consumer(run), nil)
	d.kind = "mutation.skipped"
	return err
}

func (d *decision) awaiting(id eventlog.MutationID, verb string) (*projections.Mutation, *projections.Run, error) {
	m, err := d.mutationByID(id)
	if err != nil {
		return nil, nil, err
	}
	run := d.state().CurrentRun()
	if d.state().Open(m.Run) {
		run = d.state().Run(m.Run)
	}
	if m.Status != eventlog.MutationAwaitingApproval || run == nil || run.Mutation != m.ID || m.ApprovedAt != 0 {
		return nil, nil, refuse(Conflict, "mutation.state", "mutation %s is %s; only one that awaits approval can be %s",
			m.ID, m.Status, verb).
			hint(hint.Outcome, m.ID)
	}
	return m, run, nil
}

// skipHeld ends the run's events as skipped in this transition; they stay skipped even if next
// fails (O2).
func (d *decision) skipHeld(run *projections.Run, reason string) {
	for _, e := range d.state().Held(run) {
		d.emit(&eventlog.EventSkipped{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID, Reason: reason})
	}
}

func (c Resolve) decide(d *decision) error {
	m, err := d.mutationByID(c.Mutation)
	if err != nil {
		return err
	}
	s := d.state()
	if m.Status != eventlog.MutationIndeterminate {
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
	if no := commentable(c.Comment); no != nil {
		return no
	}
	switch c.Resolution {
	case DidHappen:
		result := c.Result
		if result == nil {
			result = []byte("null")
		}
		d.lead(&eventlog.MutationApplied{Mutation: m.ID, Run: run.ID, Result: result,
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
		d.lead(&eventlog.MutationFailed{
			Mutation: m.ID, Run: run.ID, ResolvedBy: eventlog.ResolvedByUserFailed,
			Failure: *failure(eventlog.Transient, "mutation.assertedFailed", "%s says that %s.%s did not happen",
				d.env.Actor.Name, m.Call.Connector, m.Call.Operation),
		})
		d.comment(m.ID, c.Comment)
		d.countCertain(run, m)
		d.undo(run, uncharged)
	case Skip:
		d.lead(&eventlog.MutationSkipped{Mutation: m.ID, Run: run.ID, ResolvedBy: eventlog.ResolvedByUserSkip})
		d.comment(m.ID, c.Comment)
		d.countCertain(run, m)
		d.skipHeld(run, "mutation skipped")
		d.emit(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseMutated})
		d.unblockUncertain(run)
	case TryAgain:
		if !m.Call.Reconciles {
			return refuse(Conflict, "mutation.noReconcile", "%s.%s cannot be asked what became of it", m.Call.Connector,
				m.Call.Operation).
				hint(hint.FindOut, m.ID)
		}
		f := uncertainty(m.Failure)
		// Never before the call's own end: an answer then could still be overtaken by it.
		at := max(d.env.Now, d.afterDeadline(m))
		d.lead(&eventlog.MutationReconcileScheduled{Mutation: m.ID, At: at, Failure: f, OverAt: m.OverAt})
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
	case m.Status == eventlog.MutationAwaitingApproval:
		return no.hint(hint.ApproveOrReject, m.ID)
	case m.Status.Final():
		return no.hint(hint.Settled, m.ID)
	case m.Status != eventlog.MutationNeedsReconcile:
		return no.hint(hint.CallOpen)
	case m.Call.Reconciles:
		return no.hint(hint.Reconciling, m.ReconcileAt)
	}
	return no.hint(hint.UnderWay, m.ReconcileAt)
}
