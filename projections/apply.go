package projections

import (
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/eventlog"
)

// ErrBroken marks a record that cannot follow the state: it stops the workflow.
var ErrBroken = errors.New("log cannot be folded")

// Apply returns the state after the record. The given state stays valid. An error is a *Missing, or wraps
// ErrBroken and names the workflow, the revision and the fact.
func Apply(s *State, r *eventlog.Record) (*State, error) {
	if err := follows(s, r); err != nil {
		return s, err
	}
	d := NewDraft(s, r.Transition, r.Position.Seq)
	for n, fact := range r.Facts {
		if err := d.fold(n, fact); err != nil && d.Missing() == nil {
			return s, err
		}
	}
	next := d.State()
	if err := next.finish(s, r, d.missing); err != nil {
		return s, err
	}
	return next, nil
}

// follows refuses a record that is not the next one of the state's workflow.
func follows(s *State, r *eventlog.Record) error {
	switch {
	case s.Exists() && s.Name != r.Workflow:
		return fmt.Errorf("%w: record %s of %s given to the state of %s", ErrBroken, r.Position, r.Workflow, s.Name)
	case r.Revision != s.Head.Revision+1:
		return fmt.Errorf("%w: %s: record %s has revision %d, want %d", ErrBroken, r.Workflow, r.Position, r.Revision,
			s.Head.Revision+1)
	case r.Prev != s.Head.Hash:
		return fmt.Errorf("%w: %s: revision %d at %s does not continue the hash chain", ErrBroken, r.Workflow, r.Revision,
			r.Position)
	}
	return nil
}

// finish completes a state into which all facts of the record are folded: it sets the head, and touches what has moved
// since the state before. missing has the keys that the fold has missed. Those missed here are added, and all of them
// are the error.
func (s *State) finish(before *State, r *eventlog.Record, missing *Missing) error {
	s.Head, s.rekeyed, s.answered = r.Head(), nil, nil
	s.missing = missing
	s.touchMoved(before)
	s.missing = nil
	return missing.err()
}

func (f *folding) apply(fact eventlog.Fact) error {
	switch e := fact.(type) {
	case *eventlog.WorkflowDeployed:
		return f.deployed(e)
	case *eventlog.WorkflowGranted:
		f.Grants = e.Grants
	case *eventlog.WorkflowPaused:
		f.Pause = &Pause{By: f.t.Actor, Since: f.at()}
	case *eventlog.WorkflowResumed:
		f.Pause = nil
	case *eventlog.LogRestored:
		f.restored(e)
	case *eventlog.WorkflowBlocked:
		f.Blocked = &Block{Reason: e.Reason, Message: e.Message, Run: e.Run, Since: f.at()}
	case *eventlog.WorkflowUnblocked:
		f.Blocked = nil
	case *eventlog.WorkflowArchived:
		f.Archived = true
	case *eventlog.MaintenanceEntered:
		f.Maintenance = &Maintenance{Run: e.Run, Since: f.at()}
		if run := f.Run(e.Run); run != nil {
			f.RepairHandler = run.Handler
		}
	case *eventlog.MaintenanceLeft:
		f.Maintenance = nil
	case *eventlog.RepairCounted:
		f.RepairFailures = e.Failures
		if e.Failures == 0 {
			f.RepairHandler = ""
		}
	case *eventlog.BackoffStarted:
		f.backoffStarted(e)
	case *eventlog.BackoffCleared:
		f.Backoff = nil
	case *eventlog.RetryOwed:
		f.PendingRetry = e.Run
	case *eventlog.RetryCleared:
		f.PendingRetry = ""
	case *eventlog.LossAccepted:
	case *eventlog.HandlerStateSaved:
		return f.changeHandler(e.Handler, func(h *Handler) { h.State = e.State })
	case *eventlog.HandlerScheduled:
		return f.changeHandler(e.Handler, func(h *Handler) { h.NextRunAt = e.NextRunAt })
	case *eventlog.HandlerWakeRequested:
		return f.changeHandler(e.Handler, func(h *Handler) { h.WakeAt = e.WakeAt })
	case *eventlog.HandlerDirtied:
		return f.changeHandler(e.Handler, func(h *Handler) { h.DirtyAt = f.Head.Revision })
	case *eventlog.HandlerCleaned:
		return f.changeHandler(e.Handler, func(h *Handler) { h.DirtyAt = 0 })
	case *eventlog.HandlerFailuresCounted:
		return f.changeHandler(e.Handler, func(h *Handler) {
			if h.Failures == 0 || e.Runs == 0 {
				h.FailingAt = f.Head.Revision
			}
			h.Failures = e.Runs
		})
	case *eventlog.HandlerStreakCounted:
		return f.streakCounted(e)
	case *eventlog.HandlerProbeScheduled:
		return f.probeScheduled(e)
	case *eventlog.HandlerProbingEnded:
		return f.probingEnded(e)
	case *eventlog.HandlerUncertainCounted:
		return f.changeHandler(e.Handler, func(h *Handler) { h.Uncertain = e.Mutations })
	case *eventlog.HandlerRepairCounted:
		return f.changeHandler(e.Handler, func(h *Handler) { h.RepairFailures, h.RepairVersion = e.Failures, f.Version })
	case *eventlog.SessionStarted:
		return f.sessionStarted(e)
	case *eventlog.SessionEnded:
		return f.sessionEnded(e)
	case *eventlog.RunStarted:
		return f.runStarted(e)
	case *eventlog.RunPrepared:
		return f.runPrepared(e)
	case *eventlog.RunAdvanced:
		return f.runAdvanced(e.Run, e.Phase)
	case *eventlog.RunCommitted:
		return f.runCommitted(e)
	case *eventlog.RunFailed:
		failure := e.Failure
		return f.runEnded(e.Run, e.Status, &failure)
	case *eventlog.RunCrashed:
		return f.runEnded(e.Run, eventlog.RunStatusCrashed, nil)
	case *eventlog.RunSuspended:
		return f.changeCurrent(e.Run, func(r *Run) { r.Status = eventlog.RunStatusPausedApproval })
	case *eventlog.RunReactivated:
		return f.changeCurrent(e.Run, func(r *Run) {
			if r.Status, r.Engine = eventlog.RunStatusActive, e.Engine; r.Event != nil {
				r.BackRevision = f.Head.Revision
			}
		})
	case *eventlog.RunRetryOwed:
		return f.runRetryOwed(e)
	case *eventlog.RunRetryCleared:
		return f.runRetryCleared(e)
	case *eventlog.MutationApprovalRequested:
		return f.approvalRequested(e)
	case *eventlog.MutationApproved:
		return f.mutationApproved(e)
	case *eventlog.MutationRefused:
		return f.mutationRefused(e)
	case *eventlog.MutationStarted:
		return f.mutationStarted(e)
	case *eventlog.MutationApplied:
		return f.mutationApplied(e)
	case *eventlog.MutationFailed:
		return f.mutationFailed(e)
	case *eventlog.MutationSkipped:
		return f.mutationSkipped(e)
	case *eventlog.MutationReconcileScheduled:
		return f.reconcileScheduled(e)
	case *eventlog.MutationResent:
		return f.mutationResent(e)
	case *eventlog.MutationLeftIndeterminate:
		return f.leftIndeterminate(e)
	case *eventlog.MutationCommented:
		return f.changeMutation(e.Mutation, func(m *Mutation) {
			m.Comment = &Comment{Text: e.Comment, By: f.t.Actor, At: f.at()}
		})
	case *eventlog.MutationContradicted:
		return f.mutationContradicted(e)
	case *eventlog.EventPublished:
		return f.eventPublished(e)
	case *eventlog.EventTraced:
		return f.changeEvent(e.Topic, e.MessageID, func(x *TopicEvent) { x.Traceparent = e.Traceparent })
	case *eventlog.EventRepublished:
		return f.eventRepublished(e)
	case *eventlog.EventReserved:
		return f.eventReserved(e)
	case *eventlog.EventTransferred:
		return f.eventTransferred(e)
	case *eventlog.EventReleased:
		return f.eventReleased(e)
	case *eventlog.EventHeld:
		return f.eventHeld(e)
	case *eventlog.EventFreed:
		return f.eventFreed(e)
	case *eventlog.EventDeferred:
		return f.eventDeferred(e)
	case *eventlog.EventRetryScheduled:
		return f.eventRetryScheduled(e)
	case *eventlog.EventConsumed:
		return f.eventConsumed(e)
	case *eventlog.EventSkipped:
		return f.eventSkipped(e)
	case *eventlog.EventDiscarded:
		return f.eventTaken(e.Topic, e.MessageID, e.Run, eventlog.EventStatusDiscarded)
	case *eventlog.EventSkipRequested:
		return f.changeEvent(e.Topic, e.MessageID, func(x *TopicEvent) {
			x.SkipRequested = true
			f.decided(&x.Decision, DecidedSkip)
		})
	case *eventlog.EventRedriven:
		return f.eventRedriven(e)
	case *eventlog.EventGivenUp:
		return f.eventGivenUp(e)
	case *eventlog.MutationGivenUp:
		return f.mutationGivenUp(e)
	case *eventlog.InputRegistered:
		if f.inputs.has(e.Input) {
			return fmt.Errorf("input %s is registered already", e.Input)
		}
		f.putInput(&Input{ID: e.Input, Source: e.Source, Type: e.Type, ExternalID: e.ExternalID, Title: e.Title, At: f.at(),
			Created: f.ordinal()})
	case *eventlog.InputRetitled:
		return f.inputRetitled(e)
	case *eventlog.TokenCreated:
		return f.tokenCreated(e)
	case *eventlog.TokenRevoked:
		return f.tokenRevoked(e)
	case *eventlog.LoginOpened:
		return f.loginOpened(e)
	case *eventlog.LoginClosed:
		return f.loginClosed(e)
	case *eventlog.SubscriptionResumed: // the webhook's own position says how it stands
		return f.ofInstallation()
	default:
		return errors.New("unknown fact type")
	}
	return nil
}
