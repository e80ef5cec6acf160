package projections

import (
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
)

func (f *folding) eventPublished(e *eventlog.EventPublished) error {
	key := EventKey(e.Topic, e.MessageID)
	if f.events.has(key.ID) {
		return fmt.Errorf("event %s in %s is published already", e.MessageID, e.Topic)
	}
	event := &TopicEvent{
		Topic: e.Topic, MessageID: e.MessageID, Title: e.Title, Payload: e.Payload, Status: eventlog.EventStatusPending,
		CreatedBy: e.CreatedBy, CausedBy: e.CausedBy, CreatedAt: f.at(), Created: f.ordinal(),
	}
	if run := f.Run(e.CreatedBy); run != nil && run.Type == eventlog.ConsumerHandler {
		event.Depth = run.Depth + 1
	}
	f.putEvent(key, event)
	f.wait(e.Topic, 1)
	return f.recount(nil, event)
}

// eventRepublished keeps R11: status, position and reservation stay.
func (f *folding) eventRepublished(e *eventlog.EventRepublished) error {
	return f.changeEvent(e.Topic, e.MessageID, func(x *TopicEvent) {
		x.Title, x.Payload, x.CausedBy = e.Title, e.Payload, e.CausedBy
	})
}

func (f *folding) eventReserved(e *eventlog.EventReserved) error {
	old := f.Event(e.Topic, e.MessageID)
	if old != nil && old.Status != eventlog.EventStatusPending {
		return fmt.Errorf("event %s in %s is %s and cannot be reserved", e.MessageID, e.Topic, old.Status)
	}
	if old != nil && old.Held != nil {
		return fmt.Errorf("event %s in %s is held for %s and cannot be reserved", e.MessageID, e.Topic, old.Held.Reason)
	}
	effect := false // of an attempt that is forgotten now
	if old != nil && len(old.Attempts) == maxAttemptsKept && old.Attempts[0].Called {
		effect = f.mayHaveHappened(old.Attempts[0].Run)
	}
	err := f.changeEvent(e.Topic, e.MessageID, func(x *TopicEvent) {
		x.Status, x.ReservedBy, x.ScheduledAt, x.Deferred = eventlog.EventStatusReserved, e.Run, 0, false
		x.Executions++
		x.WasUnknown = x.WasUnknown || effect
		attempts := append(slices.Clone(x.Attempts), Attempt{N: x.Executions, Run: e.Run, At: f.at()})
		if len(attempts) > maxAttemptsKept {
			attempts = attempts[len(attempts)-maxAttemptsKept:]
		}
		x.Attempts = attempts
	})
	if err != nil {
		return err
	}
	return f.changeRun(e.Run, func(r *Run) {
		r.Depth = max(r.Depth, old.Depth)
		r.Reserved = append(slices.Clip(r.Reserved), eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID})
	})
}

// eventTransferred moves a reservation to a retry run; the attempt stays the same one (J2).
func (f *folding) eventTransferred(e *eventlog.EventTransferred) error {
	old := f.Event(e.Topic, e.MessageID)
	if old != nil && old.Status != eventlog.EventStatusReserved {
		return fmt.Errorf("event %s in %s is %s and holds no reservation", e.MessageID, e.Topic, old.Status)
	}
	return f.changeEvent(e.Topic, e.MessageID, func(x *TopicEvent) { x.ReservedBy, x.Held = e.Run, nil })
}

func (f *folding) eventReleased(e *eventlog.EventReleased) error {
	return f.giveBack(e.Topic, e.MessageID, e.Run, func(x *TopicEvent) {
		if e.Uncounted {
			x.uncount()
		}
	})
}

// eventRetryScheduled: only what is scheduled again has failed for its job (J2).
func (f *folding) eventRetryScheduled(e *eventlog.EventRetryScheduled) error {
	return f.giveBack(e.Topic, e.MessageID, e.Run, func(x *TopicEvent) {
		x.ScheduledAt, x.Counted = e.At, !e.Uncounted
		if x.Tries++; !e.Uncounted {
			x.Failures++
		}
		switch {
		case !e.Attention:
			x.Attention = 0
		case x.Attention == 0:
			x.Attention = f.at()
		}
	})
}

func (f *folding) giveBack(topic eventlog.Topic, id eventlog.MessageID, run eventlog.RunID,
	change func(*TopicEvent)) error {
	old := f.Event(topic, id)
	if old != nil && (old.Status != eventlog.EventStatusReserved || old.ReservedBy != run) {
		return fmt.Errorf("event %s in %s is %s by run %q and cannot be released by run %s", id, topic, old.Status,
			old.ReservedBy, run)
	}
	failure, err := f.failureOf(run)
	if err != nil {
		return err
	}
	called := f.Run(run).Mutation != ""
	return f.changeEvent(topic, id, func(x *TopicEvent) {
		x.Status, x.ReservedBy, x.ScheduledAt, x.Held = eventlog.EventStatusPending, "", 0, nil
		if x.Attempts = f.endAttempt(x.Attempts, failure); len(x.Attempts) > 0 {
			x.Attempts[len(x.Attempts)-1].Called = called
		}
		if failure != nil {
			x.FailedAt = f.Head.Revision
		}
		change(x)
	})
}

// eventConsumed also notes for the consumer that one of its events was committed (J2).
func (f *folding) eventConsumed(e *eventlog.EventConsumed) error {
	if err := f.eventTaken(e.Topic, e.MessageID, e.Run, eventlog.EventStatusConsumed); err != nil {
		return err
	}
	run := f.Run(e.Run)
	if run == nil {
		return fmt.Errorf("run %s is not known", e.Run)
	}
	return f.changeHandler(run.Handler, func(h *Handler) {
		h.ConsumedAt = f.Head.Revision
		if run.Event != nil && run.RetryOf == "" { // next alone says nothing of the target
			h.ProvenStart = max(h.ProvenStart, run.Began())
		}
	})
}

// eventTaken ends an event that the run holds: by its commit, or by its last failure (J2).
func (f *folding) eventTaken(topic eventlog.Topic, id eventlog.MessageID, run eventlog.RunID,
	status eventlog.EventStatus) error {
	old := f.Event(topic, id)
	if old != nil && (old.Status != eventlog.EventStatusReserved || old.ReservedBy != run) {
		return fmt.Errorf("event %s in %s is %s by run %q and cannot be %s by run %s", id, topic, old.Status, old.ReservedBy,
			status, run)
	}
	return f.eventFinal(topic, id, status, "")
}

func (f *folding) eventFinal(topic eventlog.Topic, id eventlog.MessageID, status eventlog.EventStatus,
	reason string) error {
	old := f.Event(topic, id)
	if old != nil && old.Status != eventlog.EventStatusPending && old.Status != eventlog.EventStatusReserved {
		return fmt.Errorf("event %s in %s is %s already", id, topic, old.Status)
	}
	var failure *eventlog.Failure
	called := false
	if status == eventlog.EventStatusDiscarded && old != nil {
		var err error
		if failure, err = f.failureOf(old.ReservedBy); err != nil {
			return err
		}
		called = f.Run(old.ReservedBy).Mutation != ""
	}
	return f.changeEvent(topic, id, func(x *TopicEvent) {
		if status == eventlog.EventStatusDiscarded {
			x.Failures++
		}
		if x.Status == eventlog.EventStatusReserved {
			x.Attempts = f.endAttempt(x.Attempts, failure)
		}
		if called {
			x.endedWith(x.ReservedBy)
		}
		// A skipped event of a run that still has to run `next` stays linked to it (O2).
		if status != eventlog.EventStatusSkipped {
			x.ReservedBy = ""
		} else {
			f.decided(&x.Decision, DecidedSkip)
		}
		x.Status, x.ScheduledAt, x.FinalizedAt, x.Reason = status, 0, f.at(), reason
		x.Held, x.Deferred, x.Attention = nil, false, 0
	})
}

func (f *folding) eventRedriven(e *eventlog.EventRedriven) error {
	old := f.Event(e.Topic, e.MessageID)
	held := old != nil && old.Status == eventlog.EventStatusPending && old.Held != nil // J3
	if old != nil && !held && old.Status != eventlog.EventStatusSkipped && old.Status != eventlog.EventStatusDiscarded {
		return fmt.Errorf("event %s in %s is %s and cannot be redriven", e.MessageID, e.Topic, old.Status)
	}
	called := false
	if old != nil {
		f.undecided(old, false)
		if run := f.Run(old.ReservedBy); run != nil { // if it is not in memory, the fold asks for it
			called = run.Mutation != ""
		}
	}
	return f.changeEvent(e.Topic, e.MessageID, func(x *TopicEvent) {
		if called {
			x.endedWith(x.ReservedBy)
		}
		x.Status, x.ReservedBy, x.FinalizedAt, x.Reason, x.SkipRequested = eventlog.EventStatusPending, "", 0, "", false
		x.Unknown, x.WasUnknown, x.Undecided = false, x.WasUnknown || x.Unknown, false
		f.decided(&x.Decision, DecidedRedrive)
		x.Executions, x.Failures, x.Tries, x.FailedAt = 0, 0, 0, 0
		x.Held, x.Counted, x.Attention = nil, false, 0
	})
}

func (f *folding) inputRetitled(e *eventlog.InputRetitled) error {
	old := f.Input(e.Input)
	if old == nil {
		return fmt.Errorf("input %s is not known", e.Input)
	}
	f.changeInput(old, func(in *Input) { in.Title = e.Title })
	return nil
}

// maxFormer bounds TopicEvent.Former.
const maxFormer = 32

// endedWith remembers the run with which the event has ended, for a redrive (O11). Once a run has to be forgotten, its
// call counts as one whose outcome is not known.
func (e *TopicEvent) endedWith(run eventlog.RunID) {
	if slices.Contains(e.Former, run) {
		return
	}
	e.Former = append(slices.Clone(e.Former), run)
	if over := len(e.Former) - maxFormer; over > 0 {
		e.Former, e.WasUnknown = e.Former[over:], true
	}
}

// mayHaveHappened reports whether the call of an ended run may have had its effect.
func (f *folding) mayHaveHappened(id eventlog.RunID) bool {
	run := f.Run(id)
	if run == nil || run.Mutation == "" {
		return false
	}
	m := f.Mutation(run.Mutation)
	return m != nil && m.MayHaveHappened()
}

// failureOf is the failure that the run has ended with in this fold, nil after a crash or an
// abort: there the attempt did not fail.
func (f *folding) failureOf(run eventlog.RunID) (*eventlog.Failure, error) {
	r := f.Run(run)
	if r == nil {
		return nil, fmt.Errorf("run %s is not known", run)
	}
	if r.Status == eventlog.RunStatusCrashed {
		return nil, nil
	}
	return r.Failure, nil
}

func (f *folding) endAttempt(attempts []Attempt, failure *eventlog.Failure) []Attempt {
	if len(attempts) == 0 {
		return attempts
	}
	attempts = slices.Clone(attempts)
	last := &attempts[len(attempts)-1]
	last.EndedAt, last.Failure = f.at(), failure
	return attempts
}

// uncount takes back the execution that began with the last reservation. A retry of next is another run, but part of
// the same execution.
func (e *TopicEvent) uncount() {
	if n := len(e.Attempts); n > 0 && e.Executions > 0 {
		e.Executions--
		e.Attempts = orNil(slices.Clip(e.Attempts[:n-1]))
	}
}
