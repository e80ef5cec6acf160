package decide

import (
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// StatusOf is F2: the run's status by the failure's class.
func StatusOf(class eventlog.Class) eventlog.RunStatus {
	switch class {
	case eventlog.Transient:
		return eventlog.RunStatusPausedTransient
	case eventlog.Logic:
		return eventlog.RunStatusFailedLogic
	case eventlog.Auth, eventlog.Permission, eventlog.Precondition:
		return eventlog.RunStatusPausedApproval
	default:
		return eventlog.RunStatusFailedInternal
	}
}

// closed keeps the classes a closed list (F1): a failure of any other class is the engine's own.
func closed(class eventlog.Class) eventlog.Class {
	switch class {
	case eventlog.Transient, eventlog.Logic, eventlog.Permission, eventlog.Auth, eventlog.Precondition:
		return class
	}
	return eventlog.Internal
}

// probeAfter is how many runs in a row may fail transiently, on different events, before a consumer with
// a job limit is tried one run at a time: then it is not the events' fault (J2).
const probeAfter = 3

// charge counts the failure of a run against its jobs (J2): each backs off, or is discarded once its attempts are used
// up. The workflow goes on at once, unless this is the third run in a row that fails on different events, or Pawl is to
// blame and the failure does not say when to come again: then the workflow backs off.
func (d *decision) charge(run *projections.Run, held []*projections.TopicEvent, limit int, f eventlog.Failure) {
	probing := d.probing(run.Handler)
	inRow, own := d.failuresInRow(run, held, f), d.own(f)
	for _, e := range held {
		counts := !own && d.countsAttempt(run, e, f, probing)
		switch {
		case e.SkipRequested:
			d.emit(&eventlog.EventSkipped{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID})
		case counts && e.Failures >= limit:
			d.discard(run, e, f)
		default:
			longest := d.env.Policies.Transient.Max
			if probing { // the next probe must not wait long for a job
				longest = min(longest, maxBetweenProbes)
			}
			wait := max(schedule.JobBackoff(e.Tries+1, d.env.Jitter, longest), retryAfter(f))
			// Never before the run's start: a clock that went back must not hide that it came due.
			at := max(d.env.Now, run.StartedAt).Add(wait)
			d.emit(&eventlog.EventRetryScheduled{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID, At: at,
				Uncounted: !counts})
		}
	}
	h := d.state().Handler(run.Handler)
	switch {
	case own && (f.RetryAfter == 0 || probing) && !d.state().Archived:
		// The cause may last and meet every event: without this pause all waiting events would be tried at once. It was
		// no probe, and the next one comes no sooner than after a probe.
		d.backOff(run.ID, f, 1, maxBetweenProbes)
		return
	case own, h == nil, h.Failures == inRow:
		return
	}
	d.emit(&eventlog.HandlerFailuresCounted{Handler: run.Handler, Runs: inRow})
	if inRow >= probeAfter && !d.state().Archived {
		d.backOff(run.ID, f, inRow, maxBetweenProbes)
	}
}

// backOff is F8: nothing of the workflow runs for a while, then it tries again by itself, without end. After
// so many failures in a row it needs attention, or is held where the policy says so. least is the
// smallest number of failures to assume, longest the longest pause between two tries, unless the target asks for more.
func (d *decision) backOff(run eventlog.RunID, f eventlog.Failure, least int, longest time.Duration) {
	p := d.env.Policies.Transient
	attempt := 0
	if b := d.state().Backoff; b != nil {
		attempt = b.Attempt
	}
	if f.RetryAfter == 0 { // a target that says when to come again is at work (F13)
		attempt = max(least, attempt+1)
	}
	attention := attempt >= max(p.Retries, 1)
	if attention && d.holds(f) {
		d.block(eventlog.BlockTransient, run, "%s in a row, the last: %s", eventlog.Count(attempt, "transient failure"),
			f.Message)
		return
	}
	wait := max(min(p.Delay(attempt, d.env.Jitter), longest), retryAfter(f))
	d.emit(&eventlog.BackoffStarted{Attempt: attempt, Until: d.env.Now.Add(wait), Attention: attention})
}

// failuresInRow is how many runs in a row have failed transiently on different events, this one included. A probe that
// fails counts whatever it was tried on; a failure of another class ends a streak that is no probe yet.
func (d *decision) failuresInRow(run *projections.Run, held []*projections.TopicEvent, f eventlog.Failure) int {
	h := d.state().Handler(run.Handler)
	switch {
	case h == nil:
		return 0
	case d.own(f):
		return h.Failures // it neither belongs to the row nor ends it
	case f.Class != eventlog.Transient && h.Failures < probeAfter:
		return 0
	case f.Class != eventlog.Transient:
		return h.Failures
	case h.Failures == 0 || h.Failures >= probeAfter:
		return h.Failures + 1
	}
	for _, e := range held {
		if e.FailedAt >= h.FailingAt {
			return h.Failures // it is counted already
		}
	}
	return h.Failures + 1
}

// countsAttempt reports whether the failure counts against the event's job (J2). A logic failure always does, one with
// a time of its own (F13) never. Another transient one does if the target has worked for another event since this job
// failed last (the first time: since its run began), or if the job has waited for Transient.Max and its consumer is not
// probed.
func (d *decision) countsAttempt(run *projections.Run, e *projections.TopicEvent, f eventlog.Failure,
	probing bool) bool {
	switch {
	case f.Class == eventlog.Logic:
		return true
	case f.RetryAfter > 0:
		return false // F13
	}
	since, at := run.StartRevision, run.StartedAt
	if failed := lastFailed(e); failed != nil && e.FailedAt != 0 {
		since, at = e.FailedAt, failed.EndedAt
	}
	if h := d.state().Handler(run.Handler); h != nil && h.ConsumedAt > since {
		return true
	}
	return !probing && time.Duration(d.env.Now.Sub(at)) >= d.env.Policies.Transient.Max
}

// lastFailed is the event's last failed attempt, nil without one.
func lastFailed(e *projections.TopicEvent) *projections.Attempt {
	for i := range slices.Backward(e.Attempts) {
		if e.Attempts[i].Failure != nil {
			return &e.Attempts[i]
		}
	}
	return nil
}

// recovered ends what a commit shows to be over: the consumer's failures in a row, and the workflow's back-off unless a
// consumer is still tried one run at a time. A commit that took no event proves nothing of its target.
func (d *decision) recovered(run *projections.Run, taken int) {
	if h := d.state().Handler(run.Handler); h != nil && h.Failures > 0 && taken > 0 {
		d.emit(&eventlog.HandlerFailuresCounted{Handler: h.Name})
	}
	s := d.state()
	if s.Backoff == nil || d.err != nil {
		return
	}
	for _, c := range s.Definition().Consumers {
		if d.probing(c.Name) {
			return
		}
	}
	d.emit(&eventlog.BackoffCleared{})
}

// probing reports whether the plain consumer is tried one run at a time.
func (d *decision) probing(handler eventlog.Handler) bool {
	s := d.state()
	c, ok := s.Definition().Consumer(handler)
	h := s.Handler(handler)
	return ok && !c.Concurrent() && c.MaxAttempts != nil && h != nil && h.Failures >= probeAfter
}

const (
	// targetStreak is how many first failures in a row are the fault of the target (C7).
	targetStreak = 3
	// maxBetweenProbes bounds the time from one probe to the next, unless the target asks for more.
	maxBetweenProbes = 15 * time.Second
)

// targetsFault blames the target instead of the event when the run is the third in a row to fail, or a probe, with
// nothing applied and nothing open: then nothing is held and no attempt is counted (C7). It reports whether it released
// the event.
func (d *decision) targetsFault(run *projections.Run, e *projections.TopicEvent, f eventlog.Failure) bool {
	h := d.state().Handler(run.Handler)
	if h == nil || d.err != nil {
		return false
	}
	if d.outOfRow || d.own(f) {
		d.probeLater(run, h, f)
		return false
	}
	if h.Probing != nil {
		if !ofTarget(f.Class) {
			return false
		}
		d.emit(&eventlog.EventReleased{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID})
		attempt := h.Probing.Attempt
		switch {
		case run.Began() <= h.Probing.Began: // it was under way when the target was blamed, and is no probe
			if asked := d.env.Now.Add(retryAfter(f)); f.RetryAfter > 0 && asked > probeAt(h.Probing, d.env.Now) {
				d.probeNext(run.Handler, f, attempt)
			}
		case f.RetryAfter > 0:
			d.probeNext(run.Handler, f, attempt)
		default:
			d.probeNext(run.Handler, f, attempt+1)
		}
		return true
	}
	if e.FailedAt > d.deployedAt() {
		return false // it has failed under this version already, so this failure says nothing about the target
	}
	own := eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID}
	streak := &eventlog.HandlerStreakCounted{Handler: run.Handler, Class: f.Class, Events: []eventlog.EventRef{own},
		Began: run.Began()}
	was := h.Streak
	switch {
	case !ofTarget(f.Class):
		if was != nil {
			d.emit(&eventlog.HandlerStreakCounted{Handler: run.Handler})
		}
		return false
	case was != nil && was.Class == f.Class && was.At > d.deployedAt() && h.ProvenStart <= was.Began &&
		!slices.Contains(was.Events, own):
		streak.Events, streak.Began = append(slices.Clone(was.Events), own), was.Began
	}
	if len(streak.Events) < targetStreak {
		d.emit(streak)
		return false
	}
	d.emit(&eventlog.HandlerStreakCounted{Handler: run.Handler})
	for _, ref := range was.Events {
		first := d.event(ref.Topic, ref.MessageID)
		if first != nil && waitsForTarget(first, was.Class) {
			f.RetryAfter = max(f.RetryAfter, d.pauseOf(first))
			d.emit(&eventlog.EventFreed{Topic: ref.Topic, MessageID: ref.MessageID, Uncounted: first.Held == nil})
		}
	}
	d.emit(&eventlog.EventReleased{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID})
	d.probeNext(run.Handler, f, 1)
	return true
}

// waitsForTarget reports whether an event of the row still waits for what is the target's fault now. It does not if it
// has failed in another way since (C5), or was redriven since: then it waits until the time that prepare named (C6).
func waitsForTarget(e *projections.TopicEvent, class eventlog.Class) bool {
	last := lastFailed(e)
	waits := e.Status == eventlog.EventStatusPending && (e.Held != nil || e.ScheduledAt != 0)
	return waits && e.FailedAt != 0 && last != nil && last.Failure.Class == class
}

// pauseOf is how long the event still waits where its target has asked for that (F13). The log does not say so: a wait
// that may be a back-off counts only for as long as there may be between probes.
func (d *decision) pauseOf(e *projections.TopicEvent) time.Duration {
	if !e.BacksOff() {
		return 0
	}
	left := e.ScheduledAt.Sub(d.env.Now)
	if e.ScheduledAt.Sub(lastFailed(e).EndedAt) > d.env.Policies.Transient.Delay(max(e.Tries, 1), 1) {
		return left
	}
	return min(left, maxBetweenProbes)
}

// ofTarget reports whether a failure of the class may be the fault of the target (C7).
func ofTarget(class eventlog.Class) bool {
	switch class {
	case eventlog.Transient, eventlog.Auth, eventlog.Permission, eventlog.Internal:
		return true
	}
	return false
}

// probeNext schedules the next probe, by F8 and F13. What a person has to change needs attention at once.
func (d *decision) probeNext(handler eventlog.Handler, f eventlog.Failure, attempt int) {
	p := d.env.Policies.Transient
	wait := max(min(p.Delay(attempt, d.env.Jitter), maxBetweenProbes), retryAfter(f))
	d.emit(&eventlog.HandlerProbeScheduled{Handler: handler, Class: f.Class, Message: f.Message, Attempt: attempt,
		At: d.env.Now.Add(wait), Attention: f.Class != eventlog.Transient || attempt >= max(p.Retries, 1)})
}

// probeLater puts the next probe off after a run that says nothing of the target. Such a run does not count as a probe,
// but the next one must not follow at once.
func (d *decision) probeLater(run *projections.Run, h *projections.Handler, f eventlog.Failure) {
	if h.Probing == nil || run.Began() <= h.Probing.Began {
		return
	}
	p := h.Probing
	wait := max(min(d.env.Policies.Transient.Delay(p.Attempt, d.env.Jitter), maxBetweenProbes), retryAfter(f))
	d.emit(&eventlog.HandlerProbeScheduled{Handler: run.Handler, Class: p.Class, Message: p.Message,
		Attempt: p.Attempt, At: d.env.Now.Add(wait), Attention: p.Attention != 0})
}

// own reports whether neither the event nor the target is to blame for the failure. Such a failure counts no attempt
// and is no part of a row. It only makes the next try wait (J6, F11, C7).
func (d *decision) own(f eventlog.Failure) bool { return d.ours || f.OwnFault() }

// holds reports whether what has failed is held once it needs attention (F8). What has only lost its process is never
// held: it runs again as often as needed (J6).
func (d *decision) holds(f eventlog.Failure) bool {
	return d.env.Policies.Transient.Then == schedule.Hold && !d.crashed && f.Code != eventlog.CodeWorkerLost
}

// retryAfter is how long the target wants to be left alone, at most an hour (F13).
func retryAfter(f eventlog.Failure) time.Duration {
	return min(max(f.RetryAfter, 0), eventlog.MaxRetryAfter)
}

// deployedAt is the revision at which the current version was deployed.
func (d *decision) deployedAt() uint64 {
	if script := d.state().Script(d.state().Version); script != nil {
		return script.Revision
	}
	return 0
}

// endProbingIfProven ends probing at the commit of a run that has done its work since: it took its event, and began
// after the probing did.
func (d *decision) endProbingIfProven(run *projections.Run, e *projections.TopicEvent) {
	h := d.state().Handler(run.Handler)
	if h.Probing != nil && run.RetryOf == "" && run.Began() > h.Probing.Began &&
		e.Status == eventlog.EventStatusConsumed {
		d.endProbing(h)
	}
}

// endProbing ends the consumer's wait for its target, and the streak before one (C7).
func (d *decision) endProbing(h *projections.Handler) {
	if h.Probing != nil {
		d.emit(&eventlog.HandlerProbingEnded{Handler: h.Name})
	}
	if h.Streak != nil {
		d.emit(&eventlog.HandlerStreakCounted{Handler: h.Name})
	}
}
