package projections

import (
	"fmt"
	"slices"

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
		f.putEvent(event)
		f.undecided(event, undecided)
		return nil
	}
	if old.Status != eventlog.EventPending && old.Status != eventlog.EventStatusReserved {
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

// mostUndecided bounds how many undecided events a workflow names.
const mostUndecided = 20

// undecided counts the event as one of which a person has to say whether it was handled, or no longer as one.
func (f *folding) undecided(e *TopicEvent, is bool) {
	c := &f.Counts
	switch {
	case is:
		if c.Undecided++; c.UndecidedSince == 0 {
			c.UndecidedSince = f.at()
		}
		if len(c.UndecidedFirst) < mostUndecided {
			c.UndecidedFirst = append(slices.Clone(c.UndecidedFirst), Undecided{e.Topic, e.MessageID, e.Title})
		}
	case e.Undecided:
		if c.Undecided--; c.Undecided == 0 {
			c.UndecidedSince = 0
		}
		named := func(u Undecided) bool { return u.Topic == e.Topic && u.MessageID == e.MessageID }
		if c.UndecidedFirst = slices.DeleteFunc(slices.Clone(c.UndecidedFirst), named); len(c.UndecidedFirst) == 0 {
			c.UndecidedFirst = nil // as the store reads it back
		}
	}
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
	m.Status, m.SettledAt, m.ReconcileAt, m.ResolvedBy = eventlog.MutationStatusGivenUp, f.at(), 0,
		eventlog.ResolvedByAcceptedLoss
	m.Failure = &eventlog.Failure{
		Class: eventlog.Internal, Code: "mutation.givenUp",
		Message: fmt.Sprintf("given up with an accepted loss of the log; the last that was recorded of it: %s", e.Status),
	}
	f.putMutation(&m)
	return nil
}
