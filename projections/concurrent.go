package projections

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
)

// attends is since when a person should look at the run of a concurrent consumer: its next has failed so often. Zero
// for never, and once the run is over.
func (r *Run) attends() eventlog.Instant {
	if r.Event == nil || r.EndedAt != 0 && !r.Owes {
		return 0
	}
	return r.Attention
}

func (f *folding) runRetryOwed(e *eventlog.RunRetryOwed) error {
	old := f.Run(e.Run)
	if old == nil || old.Event == nil || old.EndedAt == 0 {
		return fmt.Errorf("run %s has not ended, or is none of a concurrent consumer, and owes no retry", e.Run)
	}
	return f.changeRun(e.Run, func(r *Run) {
		r.Owes, r.RetryAt, r.Tries = true, e.At, e.Attempt
		switch {
		case !e.Attention:
			r.Attention = 0
		case r.Attention == 0:
			r.Attention = f.at()
		}
	})
}

func (f *folding) runRetryCleared(e *eventlog.RunRetryCleared) error {
	if old := f.Run(e.Run); old == nil || !old.Owes {
		return fmt.Errorf("run %s owes no retry", e.Run)
	}
	return f.changeRun(e.Run, func(r *Run) { r.Owes, r.RetryAt = false, 0 })
}

func (f *folding) streakCounted(e *eventlog.HandlerStreakCounted) error {
	return f.changeHandler(e.Handler, func(h *Handler) {
		if h.Streak = nil; len(e.Events) > 0 {
			h.Streak = &Streak{Class: e.Class, Events: e.Events, Began: e.Began, At: f.Head.Revision}
		}
	})
}

func (f *folding) probeScheduled(e *eventlog.HandlerProbeScheduled) error {
	return f.changeHandler(e.Handler, func(h *Handler) {
		p := Probing{Since: f.at(), Began: f.Head.Revision}
		if h.Probing != nil {
			p = *h.Probing
		}
		p.Class, p.Message, p.Attempt, p.At = e.Class, e.Message, e.Attempt, e.At
		switch {
		case !e.Attention:
			p.Attention = 0
		case p.Attention == 0:
			p.Attention = f.at()
		}
		h.Probing = &p
		f.countProbing(h)
	})
}

// countProbing keeps the consumers at whose target a person should look.
func (f *folding) countProbing(h *Handler) {
	others := slices.DeleteFunc(slices.Clone(f.Counts.Probing), func(p ProbingCount) bool { return p.Consumer == h.Name })
	if h.Probing != nil && h.Probing.Attention != 0 {
		others = append(others, ProbingCount{h.Name, h.Probing.Attention, h.Probing.Attempt})
		slices.SortFunc(others, func(a, b ProbingCount) int { return cmp.Compare(a.Consumer, b.Consumer) })
	}
	f.Counts.Probing = orNil(others)
}

// forgetProbing leaves out the consumers that the definition has no more, or no more as concurrent ones.
func (f *folding) forgetProbing(d *eventlog.Definition) {
	f.Counts.Probing = orNil(slices.DeleteFunc(slices.Clone(f.Counts.Probing), func(p ProbingCount) bool {
		c, ok := d.Consumer(p.Consumer)
		return !ok || !c.Concurrent()
	}))
}

// probingEnded makes all transient back-offs of the consumer due (C7).
func (f *folding) probingEnded(e *eventlog.HandlerProbingEnded) error {
	err := f.show(f.ScheduledFor(e.Handler), (*TopicEvent).BacksOff)
	if err != nil {
		return err
	}
	return f.changeHandler(e.Handler, func(h *Handler) {
		h.Probing = nil
		f.countProbing(h)
	})
}

// BacksOff reports whether the event waits after a transient failure.
func (e *TopicEvent) BacksOff() bool {
	if e.ScheduledAt == 0 || e.Deferred || len(e.Attempts) == 0 {
		return false
	}
	failure := e.Attempts[len(e.Attempts)-1].Failure
	return failure != nil && failure.Class == eventlog.Transient
}

// ScheduledFor lists the hidden events of the concurrent consumer, the soonest first.
func (s *State) ScheduledFor(consumer eventlog.Handler) []eventlog.EventRef {
	return s.hidden(func(in lane) bool { return in.consumer == consumer })
}

// endDeferrals lets a new version look again at what an empty prepare has put off (C6).
func (f *folding) endDeferrals() error {
	return f.show(f.hidden(func(lane) bool { return true }), func(x *TopicEvent) bool { return x.Deferred })
}

// show makes due those hidden events for which due holds. It goes on after an event that is not in memory, so that one
// Missing names all of them.
func (f *folding) show(hidden []eventlog.EventRef, due func(*TopicEvent) bool) (failed error) {
	for _, ref := range hidden {
		if x := f.Event(ref.Topic, ref.MessageID); x != nil && !due(x) {
			continue
		}
		failed = cmp.Or(failed, f.changeEvent(ref.Topic, ref.MessageID, func(x *TopicEvent) {
			x.ScheduledAt, x.Deferred = 0, false
		}))
	}
	return failed
}

// hidden lists the hidden events in the lanes of concurrent consumers for which of holds, the soonest first.
func (s *State) hidden(of func(lane) bool) (all []eventlog.EventRef) {
	if s.lanes.topics.size() == 0 {
		return nil
	}
	for e := range s.Scheduled(0) {
		if in, ok := s.lanes.topics.get(e.Topic); ok && of(in) {
			all = append(all, eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID})
		}
	}
	return all
}
