package decide

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// What a person can do to topic events and their jobs (O7, J3, J4).
type (
	// SkipEvent ends an event unprocessed, whatever its job is doing, unless a mutation made for it is not resolved (O7).
	// For an event that ended with an accepted loss it records that the event was handled.
	SkipEvent struct {
		Topic     eventlog.Topic
		MessageID eventlog.MessageID
		Reason    string
	}
	// CancelJob cancels a job that is not running (J4).
	CancelJob struct {
		Topic     eventlog.Topic
		MessageID eventlog.MessageID
		Reason    string
	}
	// RedriveJob makes a cancelled or discarded job available again, or frees a held event (J3).
	RedriveJob struct {
		Topic     eventlog.Topic
		MessageID eventlog.MessageID
		// IncludingUnknown allows it where that may repeat an effect (O11).
		IncludingUnknown bool
	}
	// ChangeEvents does the same to many events in one transition. What cannot be done is listed
	// in Decision.Bulk and is no error (J4). The caller bounds the number of items: a transition
	// has a hard size.
	ChangeEvents struct {
		Action EventAction
		Items  []eventlog.EventRef
		Reason string
		// IncludingUnknown allows a redrive that may repeat effects; without it one such event refuses
		// them all (O11). Count changes nothing and only counts such events.
		IncludingUnknown, Count bool
		// Held and State, if set, restrict the change to events that are still held for this reason, and whose jobs are
		// still in this state, so that only what was counted is changed (C11).
		Held  eventlog.HeldReason
		State projections.JobState
	}
)

// EventAction is what ChangeEvents does.
type EventAction string

// The actions.
const (
	ActionSkip    EventAction = "skip"
	ActionCancel  EventAction = "cancel"
	ActionRedrive EventAction = "redrive"
)

// actions say which job states an action changes (J3, J4, O7), and in which one it has nothing left to do.
var actions = map[EventAction]struct {
	changes []projections.JobState
	done    projections.JobState
}{
	ActionSkip: {
		[]projections.JobState{projections.JobAvailable, projections.JobRetryable, projections.JobRunning,
			projections.JobDiscarded},
		projections.JobCancelled,
	},
	ActionCancel: {
		[]projections.JobState{projections.JobAvailable, projections.JobRetryable}, projections.JobCancelled,
	},
	ActionRedrive: {
		[]projections.JobState{projections.JobCancelled, projections.JobDiscarded}, projections.JobAvailable,
	},
}

// Changes reports whether the action changes a job in that state. Redriving also frees what is held for a person or a
// repair (J3); held is empty where nothing holds the event.
func (a EventAction) Changes(job projections.JobState, held eventlog.HeldReason) bool {
	frees := a == ActionRedrive && (held == eventlog.HeldPerson || held == eventlog.HeldRepair)
	return frees || slices.Contains(actions[a].changes, job)
}

// Meant reports whether a bulk change means a job that its filter fits: any job where the filter names states, statuses
// or holds (narrowed), and else each job that the action changes (C11). To skip means discarded jobs only where they
// are named: it gives up events for which a person has been asked.
func (a EventAction) Meant(narrowed bool, job projections.JobState, held eventlog.HeldReason) bool {
	return narrowed || a.Changes(job, held) && (a != ActionSkip || job != projections.JobDiscarded)
}

// Done reports whether the action has nothing left to do for a job in that state: repeating it is no error.
func (a EventAction) Done(job projections.JobState) bool { return actions[a].done == job }

// CodeJobState is the code of an action that the job's state does not allow (J3, J4, O7).
const CodeJobState = "job.state"

// CodeUnknown is the code of a redrive that may repeat an effect (O11).
const CodeUnknown = "redrive.unknown"

func (c SkipEvent) decide(d *decision) error {
	return d.change(ActionSkip, eventlog.EventRef{Topic: c.Topic, MessageID: c.MessageID}, c.Reason)
}

func (c CancelJob) decide(d *decision) error {
	return d.change(ActionCancel, eventlog.EventRef{Topic: c.Topic, MessageID: c.MessageID}, c.Reason)
}

func (c RedriveJob) decide(d *decision) error {
	if s := d.state(); s.Archived {
		return refuseArchived(s)
	}
	ref := eventlog.EventRef{Topic: c.Topic, MessageID: c.MessageID}
	if !c.IncludingUnknown && d.mayRepeat(ref) {
		return RefuseUnknown(1, []eventlog.EventRef{ref})
	}
	return d.change(ActionRedrive, ref, "")
}

// change carries out the action, or returns why not (a typed nil must not become an error).
func (d *decision) change(action EventAction, ref eventlog.EventRef, reason string) error {
	if no := d.changeEvent(action, ref, reason); no != nil {
		return no
	}
	return nil
}

func (c ChangeEvents) decide(d *decision) error {
	if _, known := actions[c.Action]; !known {
		return refuse(Invalid, "action.unknown", "action %q is none of skip, cancel, redrive",
			c.Action).hint(hint.Actions)
	}
	d.bulk = &BulkResult{Noop: []Noop{}}
	if s := d.state(); s.Archived && c.Action == ActionRedrive {
		return refuseArchived(s)
	}
	if c.Action == ActionRedrive && !c.IncludingUnknown {
		for _, ref := range c.Items {
			if d.asCounted(c, ref) == nil && d.mayRepeat(ref) {
				if d.bulk.Unknown++; d.bulk.Unknown <= maxNamed {
					d.bulk.UnknownFirst = append(d.bulk.UnknownFirst, ref)
				}
			}
		}
		if found := d.bulk; found.Unknown > 0 && !c.Count {
			d.bulk = nil
			return RefuseUnknown(found.Unknown, found.UnknownFirst)
		}
	}
	if c.Count {
		return nil
	}
	for _, ref := range c.Items {
		no := d.asCounted(c, ref)
		if no == nil {
			no = d.changeEvent(c.Action, ref, c.Reason)
		}
		if no != nil {
			d.bulk.Noop = append(d.bulk.Noop, Noop{ref.Topic, ref.MessageID, no.Message, no.Hint})
		} else {
			d.bulk.Updated++
			if e := d.event(ref.Topic, ref.MessageID); c.Action == ActionSkip && e != nil &&
				e.Status == eventlog.EventStatusReserved {
				d.bulk.AtRunEnd++
			}
		}
	}
	return nil
}

// mayRepeat is O11: it reports whether a redrive may repeat an effect. That is so where a call that was made for the
// event was applied, or its outcome is not known. It may be the call of the run with which the event has ended, now or
// before an earlier redrive. It may also be the call of an earlier attempt whose failure a late answer has contradicted
// (F12). A consent to an earlier redrive allows no later one: the late answer may have come in between.
func (d *decision) mayRepeat(ref eventlog.EventRef) bool {
	e := d.event(ref.Topic, ref.MessageID)
	switch {
	case e == nil:
		return false
	case e.Status == eventlog.EventStatusSkipped, e.Status == eventlog.EventStatusDiscarded:
	case e.Status == eventlog.EventStatusPending && e.Held != nil:
	default: // a redrive brings nothing back
		return false
	}
	called := func(a projections.Attempt) bool { return a.Called && d.mayHaveHappened(a.Run) }
	return e.Unknown || e.WasUnknown || e.ReservedBy != "" && d.mayHaveHappened(e.ReservedBy) ||
		slices.ContainsFunc(e.Former, d.mayHaveHappened) || slices.ContainsFunc(e.Attempts, called)
}

// mayHaveHappened reports whether the call of an ended run was applied, or may have been.
func (d *decision) mayHaveHappened(id eventlog.RunID) bool {
	s := d.state()
	run := s.Run(id)
	if run == nil {
		d.ask(projections.RunKey(id))
		return false
	}
	if run.Mutation == "" {
		return false
	}
	m := s.Mutation(run.Mutation)
	if m == nil {
		d.ask(projections.MutationKey(run.Mutation))
		return false
	}
	return m.MayHaveHappened()
}

// maxNamed is how many events a refusal names at most.
const maxNamed = 5

// RefuseUnknown refuses a redrive of n events that may have had their effect (O11). first are the first of them; the
// message names at most maxNamed.
func RefuseUnknown(n int, first []eventlog.EventRef) *Refusal {
	what := "1 event has had a call that was applied, or whose outcome is not known"
	effect := "redriving it may repeat that effect"
	if n > 1 {
		what = fmt.Sprintf("%d events have had calls that were applied, or whose outcome is not known", n)
		effect = "redriving them may repeat those effects"
	}
	if len(first) > 0 { // an owner of an older version names none
		var names []string
		for _, ref := range first[:min(len(first), maxNamed)] {
			names = append(names, string(ref.Topic)+" "+eventlog.ClipName(string(ref.MessageID)))
		}
		if more := n - len(names); more > 0 {
			names = append(names, fmt.Sprintf("and %d more", more))
		}
		what += ": " + strings.Join(names, ", ")
	}
	return refuse(Conflict, CodeUnknown, "%s; %s; nothing was redriven", what, effect).hint(hint.IncludingUnknown)
}

// asCounted refuses an event that is not held for the reason any more, or whose job is in another state (C11).
func (d *decision) asCounted(c ChangeEvents, ref eventlog.EventRef) *Refusal {
	e := d.event(ref.Topic, ref.MessageID)
	switch {
	case e == nil:
		return nil // that it is unknown is said with the change
	case c.State != "" && e.Job() != c.State:
		return refuse(Conflict, CodeJobState, "the job is %s now, not %s", e.Job(), c.State).
			hint(hint.LookAgain, d.state().Name)
	case c.Held == "" || e.Held != nil && e.Held.Reason == c.Held:
		return nil
	case e.Held != nil:
		return refuse(Conflict, codeHeldOtherwise, "the event is held for %s now, not for %s", e.Held.Reason, c.Held).
			hint(hint.LookAgain, d.state().Name)
	}
	return refuse(Conflict, codeHeldOtherwise, "the event is not held for %s any more: its job is %s", c.Held, e.Job()).
		hint(hint.LookAgain, d.state().Name)
}

// codeHeldOtherwise is the code of an event that has changed since it was counted (C11).
const codeHeldOtherwise = "event.held"

// changeEvent carries out the action on one event, or returns why it does not. In an archived workflow events can be
// ended, since no run will take them any more; that none is brought back is refused before.
func (d *decision) changeEvent(action EventAction, ref eventlog.EventRef, reason string) *Refusal {
	e := d.event(ref.Topic, ref.MessageID)
	if s := d.state(); e == nil && !s.Definition().HasTopic(ref.Topic) {
		return refuse(NotFound, "event.unknown", "workflow %s has no topic %q, and no event %q of it", s.Name, ref.Topic,
			ref.MessageID).hint(hint.Topics, joinTopics(s.Definition().Topics))
	}
	if e == nil {
		return refuse(NotFound, "event.unknown", "there is no event %q in topic %q", ref.MessageID, ref.Topic).
			hint(hint.Events, d.state().Name)
	}
	switch action {
	case ActionSkip:
		return d.skip(e, reason)
	case ActionCancel:
		return d.cancel(e, reason)
	}
	return d.redrive(e)
}

// skip is O7.
func (d *decision) skip(e *projections.TopicEvent, reason string) *Refusal {
	switch {
	case e.Status == eventlog.EventStatusReserved:
		return d.skipReserved(e, reason)
	case e.Status == eventlog.EventStatusDiscarded && !e.Undecided:
		// Only a pending event can end as skipped, so it is brought back first. Nothing can take it within a transition.
		d.emit(&eventlog.EventRedriven{Topic: e.Topic, MessageID: e.MessageID})
		d.emitNamingIfFirst(&eventlog.EventSkipped{Topic: e.Topic, MessageID: e.MessageID, Reason: reason})
		return nil
	case ActionSkip.Changes(e.Job(), ""), e.Undecided:
		d.emitNamingIfFirst(&eventlog.EventSkipped{Topic: e.Topic, MessageID: e.MessageID, Reason: reason})
		return nil
	}
	return d.refuseJob(e, "pending, reserved and discarded events can be skipped")
}

// cancel is J4.
func (d *decision) cancel(e *projections.TopicEvent, reason string) *Refusal {
	if !ActionCancel.Changes(e.Job(), "") {
		return d.refuseCancel(e)
	}
	d.emitNamingIfFirst(&eventlog.EventSkipped{Topic: e.Topic, MessageID: e.MessageID, Reason: reason})
	return nil
}

// refuseCancel refuses to cancel a job. Where a person can end its event another way, the hint says how.
func (d *decision) refuseCancel(e *projections.TopicEvent) *Refusal {
	s := d.state()
	no := d.refuseJob(e, "available and retryable jobs can be cancelled")
	run := s.Run(e.ReservedBy)
	if run == nil {
		return no
	}
	m := s.Mutation(run.Mutation)
	switch {
	case m != nil && m.Status == eventlog.MutationStatusIndeterminate:
		return no.hint(hint.SettleFirst, m.ID)
	case m != nil && m.Status.Unresolved():
		return no.hint(hint.Outcome, m.ID)
	case m != nil && m.Status == eventlog.MutationStatusAwaitingApproval, e.Held != nil:
		return no.hint(hint.SkipInstead, s.Name, e.Topic)
	}
	return no
}

// redrive is J3: it brings back what has ended. What waits for its retry comes by itself (J2), so the refusal says
// when.
func (d *decision) redrive(e *projections.TopicEvent) *Refusal {
	s := d.state()
	consumer, _ := s.Definition().Subscriber(e.Topic)
	switch b := s.Backoff; {
	case e.Held != nil:
		return d.redriveHeld(e)
	case e.Status == eventlog.EventStatusSkipped && s.OpenRun(e.Topic, e.MessageID) != nil:
		return refuse(Conflict, CodeJobState, "run %s must still run next for this event; no other run can take the event "+
			"before that", s.OpenRun(e.Topic, e.MessageID).ID).
			hint(hint.AfterRun, s.Name)
	case ActionRedrive.Changes(e.Job(), ""):
		d.emitNamingIfFirst(&eventlog.EventRedriven{Topic: e.Topic, MessageID: e.MessageID})
		d.dirtySubscriber(e.Topic)
		return nil
	case e.Status == eventlog.EventStatusPending && e.ScheduledAt > d.env.Now:
		return refuse(Conflict, CodeJobState, "the job is %s and is tried again by itself at %s; to redrive it at once, "+
			"cancel it first; its attempts then start from 1", e.Job(), e.ScheduledAt).
			hint(hint.CancelFirst, s.Name, e.Topic)
	case e.Status == eventlog.EventStatusPending && b != nil && b.Until > d.env.Now && !consumer.Concurrent():
		return refuse(Conflict, CodeJobState, "the job is %s: the workflow backs off, and tries again by itself at %s",
			e.Job(), b.Until).
			hint(hint.Resume, s.Name)
	}
	return d.refuseJob(e, "cancelled, discarded and held ones can be redriven")
}

// refuseJob refuses an action that applies to other jobs only: possible says to which.
func (d *decision) refuseJob(e *projections.TopicEvent, possible string) *Refusal {
	return refuse(Conflict, CodeJobState, "the job is %s; only %s", e.Job(), possible).
		hint(hint.Jobs, d.state().Name)
}

// skipReserved is O7 for an event that a run holds, in its order: an unresolved mutation is never
// touched.
func (d *decision) skipReserved(e *projections.TopicEvent, reason string) *Refusal {
	s := d.state()
	run := s.Run(e.ReservedBy)
	if run == nil {
		return refuse(Conflict, "event.orphaned",
			"event %q of topic %q is reserved by run %q, which holds it no more; see the diagnostics", e.MessageID, e.Topic,
			e.ReservedBy).
			hint(hint.Verify)
	}
	skipped := &eventlog.EventSkipped{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID, Reason: reason}
	m := s.Mutation(run.Mutation)
	why := "event " + string(e.MessageID) + " of topic " + string(e.Topic) + " was skipped by " + d.env.Actor.Name
	switch {
	case m != nil && m.Status.Unresolved():
		return refuse(Conflict, "mutation.unresolved", "mutation unresolved: %s.%s, made for this event, is %s",
			m.Call.Connector, m.Call.Operation, m.Status).
			hint(hint.SettleFirst, m.ID)
	case m != nil && m.Status == eventlog.MutationStatusAwaitingApproval:
		d.emitNamingIfFirst(skipped)
		d.withdraw(run, m, eventlog.ResolvedByUserSkip, why)
	case !run.Phase.PastMutation():
		d.emitNamingIfFirst(skipped)
		d.abort(run, "%s", why)
	case s.Archived && s.Current != run.ID && run.EndedAt != 0:
		d.emitNamingIfFirst(skipped) // its run is over and will have no retry
	case e.SkipRequested:
		return refuse(Conflict, CodeJobState, "a skip of this event is recorded already; it takes effect once next has run "+
			"for it").
			hint(hint.RunProgress, s.Name)
	default:
		d.emitNamingIfFirst(&eventlog.EventSkipRequested{Topic: e.Topic, MessageID: e.MessageID})
	}
	return nil
}
