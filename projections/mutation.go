package projections

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
)

func (f *folding) approvalRequested(e *eventlog.MutationApprovalRequested) error {
	if f.mutations.has(e.Mutation) {
		return fmt.Errorf("mutation %s is recorded already", e.Mutation)
	}
	f.putMutation(&Mutation{
		ID: e.Mutation, Run: e.Run, Call: e.Call, Status: eventlog.MutationStatusAwaitingApproval,
		RequestedAt: f.at(), Created: f.ordinal(),
	})
	return f.changeRun(e.Run, func(r *Run) { r.Mutation = e.Mutation })
}

// mutationRefused records a call that was never sent (F14).
func (f *folding) mutationRefused(e *eventlog.MutationRefused) error {
	if f.mutations.has(e.Mutation) {
		return fmt.Errorf("mutation %s is recorded already", e.Mutation)
	}
	failure := e.Failure
	f.putMutation(&Mutation{
		ID: e.Mutation, Run: e.Run, Call: e.Call, Status: eventlog.MutationStatusFailed, Failure: &failure,
		ResolvedBy: eventlog.ResolvedByNeverSent, RequestedAt: f.at(), SettledAt: f.at(), Created: f.ordinal(),
	})
	return f.changeRun(e.Run, func(r *Run) { r.Mutation, r.Outcome = e.Mutation, OutcomeFailure })
}

func (f *folding) mutationStarted(e *eventlog.MutationStarted) error {
	m := Mutation{ID: e.Mutation, Created: f.ordinal(), RequestedAt: f.at()}
	if old, approved := f.mutations.get(e.Mutation); approved { // what awaits an approval is in memory
		if old.Status != eventlog.MutationStatusAwaitingApproval {
			return fmt.Errorf("mutation %s is %s and cannot start again", e.Mutation, old.Status)
		}
		m = *old
	}
	m.Run, m.Call, m.Key, m.Deadline, m.Engine = e.Run, e.Call, e.Key, e.Deadline, e.Engine
	m.Status, m.StartedAt = eventlog.MutationStatusInFlight, f.at()
	f.putMutation(&m)
	if err := f.changeRun(e.Run, func(r *Run) { r.Mutation = e.Mutation }); err != nil {
		return err
	}
	var unknown error
	for _, event := range f.ReservedBy(f.Run(e.Run)) {
		for _, id := range event.CausedBy {
			in := f.Input(id)
			if in == nil {
				unknown = cmp.Or(unknown, unknownInput(id, event))
			} else if !slices.Contains(in.Outputs, m.ID) {
				f.changeInput(in, func(in *Input) { in.Outputs = append(slices.Clip(in.Outputs), m.ID) })
			}
		}
	}
	return unknown
}

func (f *folding) mutationApplied(e *eventlog.MutationApplied) error {
	if err := f.settle(e.Mutation, eventlog.MutationStatusApplied, func(m *Mutation) {
		m.Result, m.ResolvedBy = e.Result, e.ResolvedBy
	}); err != nil {
		return err
	}
	return f.changeRun(e.Run, func(r *Run) { r.Outcome = OutcomeSuccess })
}

func (f *folding) mutationFailed(e *eventlog.MutationFailed) error {
	failure := e.Failure
	if err := f.settle(e.Mutation, eventlog.MutationStatusFailed, func(m *Mutation) {
		m.Failure, m.ResolvedBy = &failure, e.ResolvedBy
	}); err != nil {
		return err
	}
	return f.changeRun(e.Run, func(r *Run) { r.Outcome = OutcomeFailure })
}

func (f *folding) mutationSkipped(e *eventlog.MutationSkipped) error {
	var why *eventlog.Failure
	if m := f.Mutation(e.Mutation); m != nil {
		why = m.Failure // why the outcome was unknown stays on record
	}
	err := f.settle(e.Mutation, eventlog.MutationStatusFailed, func(m *Mutation) {
		m.ResolvedBy, m.Failure = e.ResolvedBy, why
	})
	if err != nil {
		return err
	}
	return f.changeRun(e.Run, func(r *Run) { r.Outcome = OutcomeSkipped })
}

func (f *folding) mutationApproved(e *eventlog.MutationApproved) error {
	if m := f.Mutation(e.Mutation); m != nil && m.Status != eventlog.MutationStatusAwaitingApproval {
		return fmt.Errorf("mutation %s is %s and awaits no approval", e.Mutation, m.Status)
	}
	return f.changeMutation(e.Mutation, func(m *Mutation) {
		if run := f.Run(m.Run); run != nil && run.Event != nil {
			m.ApprovedAt = f.at() // it starts when its run gets a place (C3)
		}
		f.decided(&m.Decision, DecidedApproved)
	})
}

// changeOpen refuses to change an outcome that is final (F12).
func (f *folding) changeOpen(id eventlog.MutationID, change func(*Mutation)) error {
	if m := f.Mutation(id); m != nil && m.Status.Final() {
		return fmt.Errorf("mutation %s is %s already", id, m.Status)
	}
	return f.changeMutation(id, change)
}

func (f *folding) settle(id eventlog.MutationID, status eventlog.MutationStatus, change func(*Mutation)) error {
	return f.changeOpen(id, func(m *Mutation) {
		m.Status, m.SettledAt, m.ReconcileAt, m.ReconcileSince, m.Resending = status, f.at(), 0, 0, false
		m.Failure = nil
		change(m)
		if m.ResolvedBy == eventlog.ResolvedByUserReject {
			f.decided(&m.Decision, DecidedRejected)
		} else {
			f.decided(&m.Decision, DecidedResolved)
		}
	})
}

func (f *folding) reconcileScheduled(e *eventlog.MutationReconcileScheduled) error {
	failure := e.Failure
	return f.changeOpen(e.Mutation, func(m *Mutation) {
		m.Status, m.Failure = eventlog.MutationStatusNeedsReconcile, &failure
		m.ReconcileAttempts, m.ReconcileAt, m.ReconcileSince = e.Attempt, e.At, f.at()
		m.OverAt, m.Resending = e.OverAt, false
		m.Call.Reconciles = m.Call.Reconciles || e.Reconciles
		m.BecameAskable = m.BecameAskable || e.Reconciles
	})
}

// mutationResent takes in that the same call may leave once more: it may be under way again.
func (f *folding) mutationResent(e *eventlog.MutationResent) error {
	if m := f.Mutation(e.Mutation); m != nil && m.Status != eventlog.MutationStatusNeedsReconcile {
		return fmt.Errorf("mutation %s is %s and is not sent again", e.Mutation, m.Status)
	}
	return f.changeMutation(e.Mutation, func(m *Mutation) {
		m.ReconcileAttempts, m.ReconcileAt, m.ReconcileSince, m.OverAt = e.Attempt, e.At, f.at(), 0
		m.Deadline, m.Engine, m.ResentAt, m.Resending = e.Deadline, e.Engine, f.at(), true
	})
}

func (f *folding) leftIndeterminate(e *eventlog.MutationLeftIndeterminate) error {
	failure := e.Failure
	return f.changeOpen(e.Mutation, func(m *Mutation) {
		if m.Status == eventlog.MutationStatusNeedsReconcile && m.Call.Reconciles && !m.Call.Resends() {
			m.ReconcileAttempts++ // the last one asked, and found nothing out (F5); each resend was counted before
		}
		m.Status, m.ReconcileAt, m.ReconcileSince = eventlog.MutationStatusIndeterminate, 0, 0
		m.Failure, m.Resending = &failure, false
	})
}

// mutationContradicted also marks the events of the call, which may have had its effect: an event may have had so many
// attempts since that it remembers this one no more (O11). Of a call that was given up the run may be lost, and its
// events are marked already.
func (f *folding) mutationContradicted(e *eventlog.MutationContradicted) error {
	err := f.changeMutation(e.Mutation, func(m *Mutation) { m.Contradiction = e.Outcome })
	m := f.Mutation(e.Mutation)
	if err != nil || m == nil || m.Status == eventlog.MutationStatusGivenUp {
		return err
	}
	run := f.Run(m.Run)
	if run == nil {
		return nil
	}
	for _, ref := range run.Reserved {
		if event := f.Event(ref.Topic, ref.MessageID); event != nil && event.Status != eventlog.EventStatusConsumed {
			err = cmp.Or(err, f.changeEvent(ref.Topic, ref.MessageID, func(x *TopicEvent) { x.WasUnknown = true }))
		}
	}
	return err
}

// MayHaveHappened reports whether the call was applied, as a late answer may say (F12), or may have been: its outcome
// is not known, or a person has skipped it before it was (O11).
func (m *Mutation) MayHaveHappened() bool {
	unknown := m.Status.Unresolved() || m.ResolvedBy == eventlog.ResolvedByUserSkip && m.StartedAt != 0
	return unknown || m.Status == eventlog.MutationStatusApplied || m.Contradiction != ""
}
