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
	if s.Exists() && s.Name != r.Workflow {
		return s, fmt.Errorf("%w: record %s of %s given to the state of %s", ErrBroken, r.Position, r.Workflow, s.Name)
	}
	if r.Revision != s.Head.Revision+1 {
		return s, fmt.Errorf("%w: %s: record %s has revision %d, want %d", ErrBroken, r.Workflow, r.Position, r.Revision,
			s.Head.Revision+1)
	}
	if r.Prev != s.Head.Hash {
		return s, fmt.Errorf("%w: %s: revision %d at %s does not continue the hash chain", ErrBroken, r.Workflow, r.Revision,
			r.Position)
	}
	d := NewDraft(s, r.Transition, r.Position.Seq)
	for n, fact := range r.Facts {
		if err := d.fold(n, fact); err != nil && d.Missing() == nil {
			return s, err
		}
	}
	next := d.State()
	next.Head, next.rekeyed, next.answered = r.Head(), nil, nil
	next.missing = d.missing
	next.touchMoved(s)
	next.missing = nil
	if err := d.Missing(); err != nil {
		return s, err
	}
	return next, nil
}

// Draft is a transition in the making: each fact is folded as it is added, so the next decision
// sees the state it leads to.
type Draft struct {
	f       folding
	t       eventlog.Transition
	missing *Missing // nil where the state has all of the past
}

// NewDraft starts a transition on the state, as if it stood at seq. Workflow, At and Actor of
// the transition must be set.
func NewDraft(s *State, t eventlog.Transition, seq uint64) *Draft {
	d := new(Draft)
	d.Begin(s, t, seq)
	return d
}

// Begin starts a transition like NewDraft, in this draft; the zero Draft will do. It reuses the memory of the former
// state, so nothing that State returned before may be used any more.
func (d *Draft) Begin(s *State, t eventlog.Transition, seq uint64) {
	next := d.f.State // a State of its own: where Apply's caller keeps it, it must not keep the transition in memory
	if next == nil {
		next = new(State)
	}
	s.forkInto(next)
	*d = Draft{t: t}
	next.Name = t.Workflow
	if !s.Exists() {
		next.Created = Ordinal{Seq: seq}
	}
	next.Head.Revision = s.Head.Revision + 1
	next.touch(WorkflowKey())
	if s.partial {
		d.missing = new(Missing)
	}
	d.f = folding{State: next, t: &d.t, seq: seq}
}

// Add appends the fact. An error that wraps ErrBroken leaves the draft unusable. After a *Missing, which is the same
// for all facts of the draft, it can only find out what more is missing.
func (d *Draft) Add(fact eventlog.Fact) error {
	d.f.fresh.handler, d.f.fresh.run, d.f.fresh.input = nil, nil, nil // the caller may have read them
	if err := d.fold(len(d.t.Facts), fact); err != nil {
		return err
	}
	d.t.Facts = append(d.t.Facts, fact)
	return nil
}

// fold folds the fact, which is the n-th of the transition.
func (d *Draft) fold(n int, fact eventlog.Fact) error {
	d.f.n = uint32(n)
	d.f.missing = d.missing
	err := d.f.apply(fact)
	d.f.missing = nil
	if missing := d.Missing(); missing != nil {
		return missing
	}
	if err != nil {
		return fmt.Errorf("%w: %s: revision %d: fact %d (%s): %w", ErrBroken, d.t.Workflow, d.f.Head.Revision, d.f.n,
			fact.FactType(), err)
	}
	return nil
}

// Ask returns a *Missing, as Add does, if what the key names is not in memory and it is not known whether it exists.
func (d *Draft) Ask(k Key) error {
	d.f.missing = d.missing
	d.f.ask(k)
	d.f.missing = nil
	return d.Missing()
}

// AskEvent returns the event, and AskInput the input, or nil. Where it is not in memory and it is not known whether it
// exists, Missing names it then, as after an Ask.
func (d *Draft) AskEvent(topic eventlog.Topic, id eventlog.MessageID) *TopicEvent {
	d.f.missing = d.missing
	e := d.f.Event(topic, id)
	d.f.missing = nil
	return e
}

// AskInput is like AskEvent.
func (d *Draft) AskInput(id eventlog.InputID) *Input {
	d.f.missing = d.missing
	in := d.f.Input(id)
	d.f.missing = nil
	return in
}

// Missing returns what Add and the lookups have missed so far as a *Missing, or nil. Once something is missing, what
// else the fold says means nothing: it took for absent what it had not read.
func (d *Draft) Missing() error {
	if d.missing == nil || len(d.missing.Keys) == 0 {
		return nil
	}
	return d.missing
}

// State is where the facts so far lead. It changes with the next Add, and the next Begin uses its memory.
func (d *Draft) State() *State { return d.f.State }

// Facts returns the facts so far.
func (d *Draft) Facts() []eventlog.Fact { return d.t.Facts }

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
