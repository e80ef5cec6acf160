package decide

import (
	"slices"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

const (
	// targetRow is how many first failures in a row are the fault of the target (C7).
	targetRow = 3
	// mostBetweenProbes bounds the time from one probe to the next, unless the target asks for more.
	mostBetweenProbes = 15 * time.Second
)

// ofTarget reports whether a failure of the class may be the fault of the target (C7).
func ofTarget(class eventlog.Class) bool {
	switch class {
	case eventlog.Transient, eventlog.Auth, eventlog.Permission, eventlog.Internal:
		return true
	}
	return false
}

// targetsFault takes the failure of a run that has nothing applied and nothing open for that of the target, if it is
// the third in a row or that of a probe: then it holds nothing and counts no attempt (C7). It reports whether it has
// released the event.
func (d *decision) targetsFault(run *projections.Run, e *projections.TopicEvent, f eventlog.Failure) bool {
	h := d.state().Handler(run.Handler)
	if h == nil || d.err != nil || d.neverSent {
		return false
	}
	if h.Probing != nil {
		if !ofTarget(f.Class) {
			return false
		}
		d.emit(&eventlog.EventReleased{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID})
		if run.StartRevision > h.Probing.Began {
			attempt := h.Probing.Attempt
			if f.RetryAfter == 0 {
				attempt++
			}
			d.probeNext(run.Handler, f, attempt)
		}
		return true
	}
	if e.FailedAt > d.deployedAt() {
		return false // its next failure is its own
	}
	own := eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID}
	row := &eventlog.HandlerRowCounted{Handler: run.Handler, Class: f.Class, Events: []eventlog.EventRef{own},
		Began: run.StartRevision}
	was := h.Row
	switch {
	case !ofTarget(f.Class):
		if was != nil {
			d.emit(&eventlog.HandlerRowCounted{Handler: run.Handler})
		}
		return false
	case was != nil && was.Class == f.Class && was.At > d.deployedAt() && h.ProvenStart <= was.Began &&
		!slices.Contains(was.Events, own):
		row.Events, row.Began = append(slices.Clone(was.Events), own), was.Began
	}
	if len(row.Events) < targetRow {
		d.emit(row)
		return false
	}
	d.emit(&eventlog.HandlerRowCounted{Handler: run.Handler})
	for _, ref := range was.Events {
		first := d.event(ref.Topic, ref.MessageID)
		if first != nil && first.Status == eventlog.EventPending && (first.Held != nil || first.ScheduledAt != 0) {
			d.emit(&eventlog.EventFreed{Topic: ref.Topic, MessageID: ref.MessageID, Uncounted: first.Held == nil})
		}
	}
	d.emit(&eventlog.EventReleased{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID})
	d.probeNext(run.Handler, f, 1)
	return true
}

// probeNext schedules the next probe, by F8 and F13. What a person has to change needs attention at once.
func (d *decision) probeNext(handler eventlog.Handler, f eventlog.Failure, attempt int) {
	p := d.env.Policies.Transient
	wait := max(min(p.Delay(attempt, d.env.Jitter), mostBetweenProbes), asked(f))
	d.emit(&eventlog.HandlerProbeScheduled{Handler: handler, Class: f.Class, Message: f.Message, Attempt: attempt,
		At: d.env.Now.Add(wait), Attention: f.Class != eventlog.Transient || attempt >= max(p.Retries, 1)})
}

// deployedAt is the revision at which the current version was deployed.
func (d *decision) deployedAt() uint64 {
	if script := d.state().Script(d.state().Version); script != nil {
		return script.Revision
	}
	return 0
}

// endProbing ends the consumer's wait for its target, and the row before one (C7).
func (d *decision) endProbing(h *projections.Handler) {
	if h.Probing != nil {
		d.emit(&eventlog.HandlerProbingEnded{Handler: h.Name})
	}
	if h.Row != nil {
		d.emit(&eventlog.HandlerRowCounted{Handler: h.Name})
	}
}

// proven ends probing at the commit of a run that has done its work since: it took its event, and began after the trip.
func (d *decision) proven(run *projections.Run, e *projections.TopicEvent) {
	h := d.state().Handler(run.Handler)
	if h.Probing != nil && run.RetryOf == "" && run.StartRevision > h.Probing.Began &&
		e.Status == eventlog.EventStatusConsumed {
		d.endProbing(h)
	}
}

// nextProbe is the event that a consumer is tried with: one that has not failed, else the one that failed longest ago,
// whatever back-off it has (C7). Of those, only what is in memory says when it failed.
func nextProbe(s *projections.State, c eventlog.Consumer, now eventlog.Instant) (projections.Candidate, bool) {
	if untried, ok := first(s.Offered(c, false, now)); ok {
		return untried, true
	}
	var longest *projections.TopicEvent
	for from := range s.Offered(c, true, forever) {
		e := s.PendingAt(from.Topic, from.Created)
		if e == nil || e.ScheduledAt > now && !e.BacksOff() {
			continue
		}
		if longest == nil || e.FailedAt < longest.FailedAt {
			longest = e
		}
	}
	if longest != nil {
		return projections.Candidate{Topic: longest.Topic, Created: longest.Created}, true
	}
	return first(s.Offered(c, true, now))
}
