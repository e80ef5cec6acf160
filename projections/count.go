package projections

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
)

// Waiting is how many events of a topic are pending.
type Waiting struct {
	Topic  eventlog.Topic `msgpack:"topic"`
	Events int            `msgpack:"events"`
}

// Counts are the numbers of events, runs and consumers that interfaces show, and since when there are any.
type Counts struct {
	Running   int `msgpack:"running,omitempty"`
	Retryable int `msgpack:"retryable,omitempty"`
	Discarded int `msgpack:"discarded,omitempty"`
	// DiscardedSince is since when there has been a discarded one, zero without any.
	DiscardedSince eventlog.Instant `msgpack:"discardedSince,omitempty"`
	// Undecided are those of which a person has to say whether they were handled: see TopicEvent.Undecided.
	// UndecidedFirst names the oldest of them.
	Undecided      int              `msgpack:"undecided,omitempty"`
	UndecidedSince eventlog.Instant `msgpack:"undecidedSince,omitempty"`
	UndecidedFirst []Undecided      `msgpack:"undecidedFirst,omitempty"`
	// Held counts the events that are held by topic and reason, in that order (C5); HeldSince is since when
	// there has been one, zero without any.
	Held      []HeldCount      `msgpack:"held,omitempty"`
	HeldSince eventlog.Instant `msgpack:"heldSince,omitempty"`
	// Attention counts the events that have failed so often that a person should look (F8), and Owing the runs of
	// concurrent consumers whose next has.
	Attention      int              `msgpack:"attention,omitempty"`
	AttentionSince eventlog.Instant `msgpack:"attentionSince,omitempty"`
	Owing          int              `msgpack:"owing,omitempty"`
	OwingSince     eventlog.Instant `msgpack:"owingSince,omitempty"`
	// Probing are the consumers whose target has failed so often that a person should look, by name (C7).
	Probing []ProbingCount `msgpack:"probing,omitempty"`
}

// ProbingCount is a consumer whose target has failed so often: since when a person should look, and how many
// probes have failed.
type ProbingCount struct {
	Consumer eventlog.Handler `msgpack:"consumer"`
	Since    eventlog.Instant `msgpack:"since"`
	Attempt  int              `msgpack:"attempt"`
}

// HeldCount is how many events of a topic are held for a reason.
type HeldCount struct {
	Topic  eventlog.Topic      `msgpack:"topic"`
	Reason eventlog.HeldReason `msgpack:"reason"`
	Events int                 `msgpack:"events"`
}

// Undecided is an event of which a person has to say whether it was handled.
type Undecided struct {
	Topic     eventlog.Topic     `msgpack:"topic"`
	MessageID eventlog.MessageID `msgpack:"messageId"`
	Title     string             `msgpack:"title"`
}

// count keeps the numbers of jobs in a state.
func (f *folding) count(state JobState, more int) {
	switch c := &f.Counts; state {
	case JobRunning:
		c.Running += more
	case JobRetryable:
		c.Retryable += more
	case JobDiscarded:
		switch c.Discarded += more; {
		case c.Discarded == 0:
			c.DiscardedSince = 0
		case c.DiscardedSince == 0:
			c.DiscardedSince = f.at()
		}
	}
}

// wait keeps the number of the topic's pending events.
func (f *folding) wait(topic eventlog.Topic, more int) {
	if more == 0 {
		return
	}
	waiting := slices.Clone(f.Waiting)
	at, found := slices.BinarySearchFunc(waiting, topic, func(w Waiting, t eventlog.Topic) int {
		return cmp.Compare(w.Topic, t)
	})
	if !found {
		waiting = slices.Insert(waiting, at, Waiting{Topic: topic})
	}
	if waiting[at].Events += more; waiting[at].Events == 0 {
		waiting = slices.Delete(waiting, at, at+1)
	}
	f.Waiting = orNil(waiting)
}

// orNil is the list, or nil where it is empty: the store reads it back as nil, and a state must not depend on whether
// it was read.
func orNil[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

// pendingCount is what the event adds to the number of the pending events of its topic.
func pendingCount(e *TopicEvent) int {
	if e.Status == eventlog.EventStatusPending {
		return 1
	}
	return 0
}

// recount keeps the inputs' counters in step with their events (Causes).
func (f *folding) recount(before, after *TopicEvent) error {
	add := func(e *TopicEvent, d int) (unknown error) {
		for _, id := range e.CausedBy {
			old := f.Input(id)
			if old == nil {
				unknown = cmp.Or(unknown, unknownInput(id, e)) // one Missing names all of them
				continue
			}
			f.changeInput(old, func(in *Input) {
				switch countsAs(e.Status) {
				case eventlog.EventStatusPending:
					in.Open += d
				case eventlog.EventStatusConsumed:
					in.Consumed += d
				case eventlog.EventStatusSkipped:
					in.Skipped += d
				case eventlog.EventStatusDiscarded:
					in.Discarded += d
				}
			})
		}
		return unknown
	}
	if before != nil {
		if countsAs(before.Status) == countsAs(after.Status) && slices.Equal(before.CausedBy, after.CausedBy) {
			return nil
		}
		if err := add(before, -1); err != nil {
			return err
		}
	}
	return add(after, 1)
}

func unknownInput(id eventlog.InputID, e *TopicEvent) error {
	return fmt.Errorf("input %s of event %s in %s is not known", id, e.MessageID, e.Topic)
}

// countsAs is what an event's status counts as for its inputs: reserved as pending.
func countsAs(s eventlog.EventStatus) eventlog.EventStatus {
	if s == eventlog.EventStatusReserved {
		return eventlog.EventStatusPending
	}
	return s
}

// countHeld keeps the numbers of events that are held or need attention.
func (f *folding) countHeld(before, after *TopicEvent) {
	c := &f.Counts
	if before.Held != after.Held {
		f.countReason(before, -1)
		f.countReason(after, 1)
		switch {
		case len(c.Held) == 0:
			c.HeldSince = 0
		case c.HeldSince == 0:
			c.HeldSince = f.at()
		}
	}
	if (before.Attention != 0) == (after.Attention != 0) {
		return
	}
	if after.Attention != 0 {
		if c.Attention++; c.Attention == 1 {
			c.AttentionSince = after.Attention
		}
	} else if c.Attention--; c.Attention == 0 {
		c.AttentionSince = 0
	}
}

func (f *folding) countReason(e *TopicEvent, more int) {
	if e.Held == nil {
		return
	}
	want := HeldCount{Topic: e.Topic, Reason: e.Held.Reason}
	counts := slices.Clone(f.Counts.Held)
	at, found := slices.BinarySearchFunc(counts, want, func(a, b HeldCount) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Reason, b.Reason))
	})
	if !found {
		counts = slices.Insert(counts, at, want)
	}
	if counts[at].Events += more; counts[at].Events == 0 {
		counts = slices.Delete(counts, at, at+1)
	}
	f.Counts.Held = orNil(counts)
}

// maxUndecided bounds how many undecided events a workflow names.
const maxUndecided = 20

// undecided counts the event as one of which a person has to say whether it was handled, or no longer as one.
func (f *folding) undecided(e *TopicEvent, is bool) {
	c := &f.Counts
	switch {
	case is:
		if c.Undecided++; c.UndecidedSince == 0 {
			c.UndecidedSince = f.at()
		}
		if len(c.UndecidedFirst) < maxUndecided {
			c.UndecidedFirst = append(slices.Clone(c.UndecidedFirst), Undecided{e.Topic, e.MessageID, e.Title})
		}
	case e.Undecided:
		if c.Undecided--; c.Undecided == 0 {
			c.UndecidedSince = 0
		}
		named := func(u Undecided) bool { return u.Topic == e.Topic && u.MessageID == e.MessageID }
		c.UndecidedFirst = orNil(slices.DeleteFunc(slices.Clone(c.UndecidedFirst), named))
	}
}
