package projections

import (
	"fmt"

	"github.com/pawl-run/pawl/eventlog"
)

// eventGivenUp ends the event, and makes one that the fold does not know: its id must be known from now on (R11).
func (f *folding) eventGivenUp(e *eventlog.EventGivenUp) error {
	if e.Status != eventlog.EventStatusConsumed && e.Status != eventlog.EventStatusSkipped {
		return fmt.Errorf("event %s in %s cannot be given up as %q", e.MessageID, e.Topic, e.Status)
	}
	undecided := e.Unknown && e.Status == eventlog.EventStatusSkipped
	old := f.Event(e.Topic, e.MessageID)
	if old == nil {
		event := &TopicEvent{
			Topic: e.Topic, MessageID: e.MessageID, Title: e.Title, Payload: e.Payload, Status: e.Status, Reason: e.Reason,
			Unknown: e.Unknown, Undecided: undecided, CreatedAt: f.at(), FinalizedAt: f.at(), Created: f.ordinal(),
		}
		f.putEvent(EventKey(e.Topic, e.MessageID), event)
		f.undecided(event, undecided)
		return nil
	}
	if old.Status != eventlog.EventStatusPending && old.Status != eventlog.EventStatusReserved {
		return fmt.Errorf("event %s in %s is %s already", e.MessageID, e.Topic, old.Status)
	}
	f.undecided(old, undecided)
	return f.changeEvent(e.Topic, e.MessageID, func(x *TopicEvent) {
		x.Attempts = f.endAttempt(x.Attempts, nil)
		x.Status, x.ReservedBy, x.ScheduledAt, x.FinalizedAt = e.Status, "", 0, f.at()
		x.Held, x.Deferred, x.Attention = nil, false, 0
		x.Reason, x.Unknown, x.Undecided, x.SkipRequested = e.Reason, e.Unknown, undecided, false
	})
}

// eventSkipped ends the event; where it has ended with an accepted loss, a person has said that it was handled. A
// redrive may still repeat that (O11).
func (f *folding) eventSkipped(e *eventlog.EventSkipped) error {
	old := f.Event(e.Topic, e.MessageID)
	if old == nil || !old.Undecided {
		return f.eventFinal(e.Topic, e.MessageID, eventlog.EventStatusSkipped, e.Reason)
	}
	f.undecided(old, false)
	return f.changeEvent(e.Topic, e.MessageID, func(x *TopicEvent) {
		if x.Undecided = false; e.Reason != "" {
			x.Reason = e.Reason
		}
		f.decided(&x.Decision, DecidedSkip)
	})
}

// mutationGivenUp keeps the call in the ledger: a person has to look at the other side.
func (f *folding) mutationGivenUp(e *eventlog.MutationGivenUp) error {
	m := Mutation{ID: e.Mutation, Created: f.ordinal(), RequestedAt: e.StartedAt}
	if old := f.Mutation(e.Mutation); old != nil {
		if old.Status.Final() {
			return fmt.Errorf("mutation %s is %s already", e.Mutation, old.Status)
		}
		m = *old
	}
	m.Run, m.Call, m.Key, m.StartedAt, m.Result = e.Run, e.Call, e.Key, e.StartedAt, e.Result
	m.Status, m.SettledAt, m.ReconcileAt, m.ReconcileSince = eventlog.MutationStatusGivenUp, f.at(), 0, 0
	m.ResolvedBy = eventlog.ResolvedByAcceptedLoss
	m.Failure = &eventlog.Failure{
		Class: eventlog.Internal, Code: "mutation.givenUp",
		Message: fmt.Sprintf("given up with an accepted loss of the log; the last that was recorded of it: %s", e.Status),
	}
	f.putMutation(&m)
	return nil
}
