package projections

import (
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
)

func (f *folding) eventHeld(e *eventlog.EventHeld) error {
	if !slices.Contains(eventlog.HeldReasons(), e.Reason) {
		return fmt.Errorf("event %s in %s cannot be held for %q", e.MessageID, e.Topic, e.Reason)
	}
	old := f.Event(e.Topic, e.MessageID)
	if old != nil && old.Status != eventlog.EventStatusPending &&
		(old.Status != eventlog.EventStatusReserved || old.ReservedBy != e.Run) {
		return fmt.Errorf("event %s in %s is %s by run %q and cannot be held by run %s", e.MessageID, e.Topic, old.Status,
			old.ReservedBy, e.Run)
	}
	return f.changeEvent(e.Topic, e.MessageID, func(x *TopicEvent) {
		x.Held = &Held{Reason: e.Reason, Since: f.at(), Run: e.Run}
		x.ScheduledAt, x.Deferred = 0, false
	})
}

func (f *folding) eventFreed(e *eventlog.EventFreed) error {
	old := f.Event(e.Topic, e.MessageID)
	if old != nil && old.Held == nil && (old.Status != eventlog.EventStatusPending || old.ScheduledAt == 0) {
		return fmt.Errorf("event %s in %s is %s and nothing holds it", e.MessageID, e.Topic, old.Status)
	}
	return f.changeEvent(e.Topic, e.MessageID, func(x *TopicEvent) {
		x.Held, x.ScheduledAt, x.Deferred = nil, 0, false
		if !e.Uncounted {
			return
		}
		x.Tries, x.Attention = max(0, x.Tries-1), 0
		if x.Counted {
			x.Failures, x.Counted = max(0, x.Failures-1), false
		}
	})
}

// eventDeferred gives the event back as if its run had never had it (C6).
func (f *folding) eventDeferred(e *eventlog.EventDeferred) error {
	failedAt := uint64(0)
	if old := f.Event(e.Topic, e.MessageID); old != nil {
		failedAt = old.FailedAt
	}
	return f.giveBack(e.Topic, e.MessageID, e.Run, func(x *TopicEvent) {
		x.uncount()
		x.ScheduledAt, x.Deferred, x.FailedAt = e.Until, e.Until != 0, failedAt
	})
}

// HeldFor is how many events of the consumer are held, by the reasons that are named, or by any (C5).
func (w *Workflow) HeldFor(c eventlog.Consumer, reasons ...eventlog.HeldReason) (events int) {
	for _, n := range w.Counts.Held {
		if c.Subscribes(n.Topic) && (len(reasons) == 0 || slices.Contains(reasons, n.Reason)) {
			events += n.Events
		}
	}
	return events
}
