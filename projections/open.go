package projections

import (
	"encoding/binary"
	"iter"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
)

// stand is what an open run does or waits for. It is part of the order's keys.
type stand byte

const (
	standsActive    stand = 'a' // it has a place
	standsAsking    stand = 'q' // the outcome of its call is asked for, next at a time
	standsReturning stand = 'w' // it waits for a place, from a time on
	standsHeld      stand = 'x' // it waits for a person or a repair
)

// stands says where an open run stands and when it goes on (0: at no known time, or now); false for one that is over.
func (s *State) stands(run *Run) (stand, eventlog.Instant, bool) {
	if run.Event == nil || run.EndedAt != 0 && !run.Owes {
		return 0, 0, false
	}
	m := s.Mutation(run.Mutation)
	switch {
	case run.Status == eventlog.RunStatusActive:
		return standsActive, 0, true
	case run.EndedAt == 0 && m != nil && m.Status == eventlog.MutationStatusAwaitingApproval && m.ApprovedAt == 0:
		return standsHeld, 0, true
	case run.EndedAt == 0:
		return standsReturning, 0, true
	case m != nil && m.Status == eventlog.MutationStatusIndeterminate:
		return standsHeld, 0, true
	case m != nil && m.Status.Unresolved():
		return standsAsking, m.ReconcileAt, true
	}
	// An event that the run still has is in memory; one that has ended need not be read.
	e, has := s.events.get(EventKey(run.Event.Topic, run.Event.MessageID).ID)
	if has && e.Held != nil && e.ReservedBy == run.ID {
		return standsHeld, 0, true
	}
	return standsReturning, run.RetryAt, true
}

func openPrefix(handler eventlog.Handler, at stand) string {
	return string(handler) + "\x00" + string(rune(at))
}

func (s *State) openPlace(run *Run) string {
	at, when, open := s.stands(run)
	if !open {
		return ""
	}
	b := []byte(openPrefix(run.Handler, at))
	b = binary.BigEndian.AppendUint64(b, uint64(when))
	b = binary.BigEndian.AppendUint64(b, run.Created.Seq)
	b = binary.BigEndian.AppendUint32(b, run.Created.N)
	return string(b)
}

// follow keeps the order of open runs in step with the run, its mutation and its event. Where that makes something
// live or finished without changing it, that is touched.
func (s *State) follow(run *Run) {
	if run == nil || run.Event == nil {
		return
	}
	o := &s.openRuns
	was, known := o.places.get(run.ID)
	now := s.openPlace(run)
	if now != "" && run.Mutation != "" {
		o.calls.put(run.Mutation, run.ID)
	}
	if was == now {
		return
	}
	if known {
		o.order.drop(was)
	}
	event := EventKey(run.Event.Topic, run.Event.MessageID).ID
	if now != "" {
		o.places.put(run.ID, now)
		o.order.put(now, run.ID)
		o.events.put(event, run.ID)
	}
	switch {
	case !known:
		s.countVersion(run.Version, 1)
	case now == "":
		o.places.drop(run.ID)
		s.countVersion(run.Version, -1)
		if last, _ := o.calls.get(run.Mutation); last == run.ID {
			o.calls.drop(run.Mutation)
		}
		if last, _ := o.events.get(event); last == run.ID {
			o.events.drop(event)
		}
	default:
		return
	}
	if run.Mutation != "" && s.Mutation(run.Mutation) != nil {
		s.touch(MutationKey(run.Mutation))
	}
}

func (s *State) countVersion(v eventlog.Version, more int) {
	o := &s.openRuns
	before, _ := o.versions.get(v)
	if n := before + more; n == 0 {
		o.versions.drop(v)
	} else {
		o.versions.put(v, n)
	}
	if (before == 0 || before+more == 0) && s.Script(v) != nil {
		s.touch(ScriptKey(v))
	}
}

// followMutation reindexes the open run that the mutation belongs to, and followEvent the one that holds the event.
func (s *State) followMutation(id eventlog.MutationID) {
	if run, ok := s.openRuns.calls.get(id); ok {
		s.follow(s.Run(run))
	}
}

func (s *State) followEvent(e *TopicEvent) {
	if _, open := s.openRuns.places.get(e.ReservedBy); open {
		s.follow(s.Run(e.ReservedBy))
	}
}

// Open reports whether the run belongs to a concurrent consumer and is not over.
func (s *State) Open(id eventlog.RunID) bool {
	_, open := s.openRuns.places.get(id)
	return open
}

// OpenRun returns the open run of the event, nil for none: also where the event has ended, and only next is left to
// run.
func (s *State) OpenRun(topic eventlog.Topic, id eventlog.MessageID) *Run {
	run, _ := s.openRuns.events.get(EventKey(topic, id).ID)
	return s.Run(run)
}

// OpenRuns yields the runs of concurrent consumers that are not over, by consumer.
func (s *State) OpenRuns() iter.Seq[*Run] { return s.openFrom("") }

// openFrom yields the open runs whose places have the prefix, in order.
func (s *State) openFrom(prefix string) iter.Seq[*Run] {
	return func(yield func(*Run) bool) {
		for place, id := range s.openRuns.order.from(prefix) {
			if !strings.HasPrefix(place, prefix) || !yield(s.Run(id)) {
				return
			}
		}
	}
}

// Active yields the consumer's runs that have a place, in the order of their starts (C3).
func (s *State) Active(handler eventlog.Handler) iter.Seq[*Run] {
	return s.openFrom(openPrefix(handler, standsActive))
}

// Places is how many of the consumer's runs have a place (C3).
func (s *State) Places(handler eventlog.Handler) int { return s.countOpen(handler, standsActive) }

// countOpen counts the open runs of the consumer that stand so.
func (s *State) countOpen(handler eventlog.Handler, at stand) (runs int) {
	prefix := openPrefix(handler, at)
	for place := range s.openRuns.order.from(prefix) {
		if !strings.HasPrefix(place, prefix) {
			break
		}
		runs++
	}
	return runs
}

// KeptByReturning is how many events of the consumer have a run that waits for a place, now or from a later time on
// (C3). An event that a person has skipped does not count, also while its run still has next to run: it leaves room.
func (s *State) KeptByReturning(handler eventlog.Handler) int {
	return s.countEvents(handler, standsReturning, func(e *TopicEvent) bool { return !e.SkipRequested })
}

// HeldAndSkipped is how many events of the consumer are held and end as skipped once their next has run.
func (s *State) HeldAndSkipped(handler eventlog.Handler) int {
	return s.countEvents(handler, standsHeld, func(e *TopicEvent) bool { return e.SkipRequested && e.Held != nil })
}

// countEvents counts the events that open runs of the consumer have which stand so, and for which counts holds.
func (s *State) countEvents(handler eventlog.Handler, at stand, counts func(*TopicEvent) bool) (events int) {
	for run := range s.openFrom(openPrefix(handler, at)) {
		// An event that the run still has is in memory; one that has ended need not be read.
		e, has := s.events.get(EventKey(run.Event.Topic, run.Event.MessageID).ID)
		if has && e.Status == eventlog.EventStatusReserved && e.ReservedBy == run.ID && counts(e) {
			events++
		}
	}
	return events
}

// Returning yields the consumer's runs that wait for a place: approved and rejected ones, and those that owe a retry
// of next, each with the time from which on. The soonest comes first.
func (s *State) Returning(handler eventlog.Handler) iter.Seq2[*Run, eventlog.Instant] {
	return s.timed(handler, standsReturning)
}

// Asking yields the consumer's runs whose call's outcome is asked for, each with the time of the next question. The
// soonest comes first.
func (s *State) Asking(handler eventlog.Handler) iter.Seq2[*Run, eventlog.Instant] {
	return s.timed(handler, standsAsking)
}

func (s *State) timed(handler eventlog.Handler, at stand) iter.Seq2[*Run, eventlog.Instant] {
	prefix := openPrefix(handler, at)
	return func(yield func(*Run, eventlog.Instant) bool) {
		for place, id := range s.openRuns.order.from(prefix) {
			if !strings.HasPrefix(place, prefix) ||
				!yield(s.Run(id), eventlog.Instant(binary.BigEndian.Uint64([]byte(place[len(prefix):])))) {
				return
			}
		}
	}
}
