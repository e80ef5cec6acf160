package explain

import (
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// explainWait says what is waited for, because of which run, event or mutation, whether it ends by
// itself and what a person can do. Every command it names is accepted in that very state.
func (w *Why) explainWait(s *projections.State, wait decide.Wait) {
	name := s.Name
	m := s.Mutation(eventlog.MutationID(wait.Subject))
	switch wait.Reason {
	case decide.ReasonIdle:
		w.explainIdle(s)
	case decide.ReasonScheduled:
		w.set("Workflow %s has nothing to do until its producer %s runs by itself at %s.", name, wait.Subject, wait.Until)
		w.offer("pawl run-now %s", name)
		w.addLeft(s, "")
	case decide.ReasonWake:
		if c, ok := s.Definition().Consumer(eventlog.Handler(wait.Subject)); ok && c.Concurrent() {
			w.set("Workflow %s has nothing to do until %s, when its consumer %s looks again at an event that its prepare has "+
				"not chosen.", name, wait.Until, wait.Subject)
			return
		}
		w.set("Workflow %s has nothing to do until its consumer %s looks again by itself at %s, as it has asked.", name,
			wait.Subject, wait.Until)
		w.addLeft(s, eventlog.Handler(wait.Subject))
	case decide.ReasonBackoff:
		w.explainBackoff(s, wait)
	case decide.ReasonUserPause:
		w.set("Workflow %s was %s. Events still arrive and wait.", name, pausedBy(s))
		if s.Pause != nil {
			w.Since = s.Pause.Since
		}
		w.addHold(s.Blocked)
		if s.Blocked == nil && s.Maintenance != nil {
			w.add("Its script needs a repair too, since run %s.", s.Maintenance.Run)
		}
		w.offer("pawl resume %s", name)
		w.offer("pawl log --workflow %s", name)
	case decide.ReasonRestored:
		w.explainRestored(s)
	case decide.ReasonApproval:
		w.explainApproval(s, wait, m)
	case decide.ReasonReconcile:
		w.set("It is not known whether mutation %s was applied; the engine asks its connector again at %s.", wait.Subject,
			wait.Until)
		if m != nil {
			w.Since = m.StartedAt
		}
		switch {
		case m != nil && !m.Call.Reconciles:
			w.set("It is not known whether %s was applied%s, and its connector cannot be asked. Something of its call may be "+
				"under way until %s; after that a person decides. Nothing of this call is sent again, and %s.",
				callName(s, m), because(m.Failure), wait.Until, others(s, m, " until then"))
		case m != nil && m.Call.Resends():
			w.set("It is not known whether %s was applied%s; %s, and %s. Once "+
				"the attempts are used up, or its host may have forgotten the key, a person is asked.",
				callName(s, m), because(m.Failure), resentWhen(m, wait.Until), others(s, m, " until it is known"))
		case m != nil:
			w.set("It is not known whether %s was applied%s; %s. Nothing of this call is sent again, and %s; once the attempts "+
				"are used up, a person is asked.",
				callName(s, m), because(m.Failure), askedWhen(m, wait.Until), others(s, m, " until it is known"))
		}
		w.offer("pawl mutations show %s", wait.Subject)
	case decide.ReasonIndeterminate:
		w.explainIndeterminate(s, wait, m)
	case decide.ReasonMaintenance:
		w.explainMaintenance(s, wait)
	case decide.ReasonBlocked:
		w.explainBlocked(s)
	case decide.ReasonStorage:
		w.set("Workflow %s cannot go on because storage cannot take its next step: the log does not answer, "+
			"there is too little free space, or the engine is shutting down. It goes on by itself once that is over; in a "+
			"cluster another node goes on with it if one can.", name)
		w.offer("pawl verify")
	case decide.ReasonNoOwner:
		w.set("Workflow %s waits for an owner: no engine of the cluster holds its partition now, because one has ended or "+
			"is cut off. Another one takes it by itself within half a minute, once the cluster has a leader.", name)
	case decide.ReasonArchived:
		w.explainArchived(s)
	case decide.ReasonHeld:
		w.Since = s.Counts.HeldSince
		w.set("Workflow %s has only held events left: %s for a person or a repair.", name,
			ofItsEvents(s.HeldForPerson(), "waits", "wait"))
	case decide.ReasonPlaces:
		w.set("Consumer %s of workflow %s has no place for another run now.", wait.Subject, name)
	case decide.ReasonRate:
		w.set("Consumer %s of workflow %s begins its next run by itself at %s, because of its rate.", wait.Subject, name,
			wait.Until)
	case decide.ReasonProbing:
		w.set("Consumer %s of workflow %s waits for its target, and tries it again by itself at %s.", wait.Subject, name,
			wait.Until)
	case decide.ReasonUncertain:
		w.set("Consumer %s of workflow %s begins no run: three of its calls in a row ended without a known outcome.",
			wait.Subject, name)
	case decide.ReasonHeldMost:
		w.Since = s.Counts.HeldSince
		w.set("Consumer %s of workflow %s begins no run: as many of its events are held as may be.", wait.Subject, name)
	default:
		w.set("Workflow %s waits: %s.", name, wait.Reason)
	}
	paused := s.Pause != nil && wait.Reason != decide.ReasonUserPause && wait.Reason != decide.ReasonRestored &&
		wait.Reason != decide.ReasonArchived
	if paused {
		w.add("In addition, it was %s.", pausedBy(s))
		w.once("pawl resume %s", name)
	}
}

// others says what becomes of other events while the outcome of a call is not known: a concurrent consumer's call holds
// only its own event (C5).
func others(s *projections.State, m *projections.Mutation, until string) string {
	if run := s.Run(m.Run); run != nil && run.Event != nil {
		return "the other events go on"
	}
	if concurrentGoOn(s) {
		return "of the workflow only the concurrent consumers run" + until
	}
	return "nothing else of the workflow runs" + until
}

// concurrentGoOn reports whether concurrent consumers run although a plain handler keeps the others waiting (C8).
func concurrentGoOn(s *projections.State) bool {
	return !s.Archived && s.Pause == nil && slices.ContainsFunc(s.Definition().Consumers, eventlog.Consumer.Concurrent)
}

// askedWhen says when a mutation's connector is asked what became of it, and from when on the answer "not applied"
// is believed.
func askedWhen(m *projections.Mutation, at eventlog.Instant) string {
	switch {
	case m.OverAt > at:
		return fmt.Sprintf("the engine asks its connector at %s and again later; an answer that it was not applied is "+
			"believed only from %s on, when its request can no longer be under way", at, m.OverAt)
	case m.OverAt == at:
		return fmt.Sprintf("the engine asks its connector at %s, when its request can no longer be under way", at)
	}
	return fmt.Sprintf("the engine asks its connector again at %s (%s so far)", at,
		eventlog.Count(m.ReconcileAttempts, "attempt"))
}

// resentWhen says when the same call is sent again to find out what became of it (F5).
func resentWhen(m *projections.Mutation, at eventlog.Instant) string {
	if m.Resending {
		return fmt.Sprintf("the same call was sent again with the same key (attempt %d), which its host is promised to know "+
			"(reconcile.resend), and its answer is awaited until %s", m.ReconcileAttempts, m.Deadline)
	}
	when := ""
	if m.OverAt == at {
		when = ", when nothing of its request can be under way any more"
	}
	return fmt.Sprintf("the same call is sent again at %s%s, with the same key, which its host is promised to know "+
		"(reconcile.resend; %s so far)", at, when, eventlog.Count(m.ReconcileAttempts, "attempt"))
}

// pausedBy says how the workflow came to be paused, by which person and when.
func pausedBy(s *projections.State) string {
	switch {
	case s.Pause != nil && s.Pause.Restored != nil:
		return fmt.Sprintf("restored from a backup of %s", s.Pause.Restored.TakenAt)
	case s.Pause == nil || s.Pause.By.Name == "":
		return "paused by a person"
	}
	return fmt.Sprintf("paused by %s at %s", s.Pause.By.Name, s.Pause.Since)
}

// explainRestored says what a person has to look at before a restored workflow goes on.
func (w *Why) explainRestored(s *projections.State) {
	w.set("Workflow %s was restored from a backup.", s.Name)
	if s.Pause != nil && s.Pause.Restored != nil {
		w.Since = s.Pause.Since
		w.set("Workflow %s was restored from the backup that was made at %s (%s).", s.Name, s.Pause.Restored.TakenAt,
			s.Pause.Restored.From)
	}
	w.add("What it has done since then is not known here, and would be done again: look at the other side, skip the " +
		"events that are done, and then resume it. Events still arrive and wait.")
	w.addHold(s.Blocked)
	w.offer("pawl events list --workflow %s --status pending", s.Name)
	w.offer("pawl resume %s", s.Name)
}

// addHold says that the system holds the paused workflow too; nil if it does not.
func (w *Why) addHold(b *projections.Block) {
	if b != nil {
		w.add("The system holds it too (%s): %s `pawl resume` ends both.", b.Reason, holdOf(b))
	}
}

func (w *Why) explainIdle(s *projections.State) {
	pending := pendingEvents(s) - unreadEvents(s)
	goesOn := "It goes on by itself when an event arrives"
	if len(s.Definition().Producers) > 0 {
		goesOn += " or its producers are asked to run"
		w.offer("pawl run-now %s", s.Name)
	}
	switch {
	case pending == 0 && s.Counts.Discarded > 0:
		w.set("Workflow %s has only discarded events left: nothing else is due. %s.", s.Name, goesOn)
		return
	case pending == 0:
		w.set("Workflow %s is idle: nothing is due and no event waits for a consumer. %s.", s.Name, goesOn)
		return
	}
	w.set("Workflow %s is idle: nothing is due. %s: no consumer took %s when it last looked. %s.",
		s.Name, ofItsEvents(pending, "still waits", "still wait"), number(pending, "it", "them"), goesOn)
	w.addLeft(s, "")
}

// addLeft names the events that wait although their consumer has looked at them: it has reserved none, and has not
// asked to look again by itself. except is a consumer for which the explanation says that already.
func (w *Why) addLeft(s *projections.State, except eventlog.Handler) {
	found := false
	for _, c := range s.Definition().Consumers {
		h := s.Handler(c.Name)
		if h == nil || c.Concurrent() || c.Name == except || h.DirtyAt > 0 || h.LookedAt == 0 || h.WakeAt > h.LookedAt {
			continue
		}
		for _, topic := range c.Subscribe {
			left, oldest := 0, ""
			for q := range s.Queue(topic) {
				if !q.Visible(h.LookedAt) {
					continue
				}
				e := s.PendingAt(topic, q.Created)
				if e != nil && e.CreatedAt > h.LookedAt {
					continue
				}
				if left++; left == 1 && e != nil {
					oldest = fmt.Sprintf(", the oldest is %q%s", eventlog.ClipName(e.MessageID), titled(eventlog.Clip(e.Title, 100)))
				}
			}
			if left == 0 {
				continue
			}
			found = true
			w.add("%s of topic %s %s: prepare of %s looked at %s and reserved none%s.", eventlog.Count(left, "event"), topic,
				number(left, "waits", "wait"), c.Name, h.LookedAt, oldest)
		}
	}
	if found {
		w.offer("pawl events list --workflow %s --status pending", s.Name)
	}
}

func (w *Why) explainArchived(s *projections.State) {
	w.set("Workflow %s is archived: it has stopped for good and takes no events. Its history stays.", s.Name)
	if pending := pendingEvents(s); pending > 0 {
		w.add("%s, and no run will take %s: %s can stay so, or be cancelled.",
			ofItsEvents(pending, "is pending", "are pending"), number(pending, "it", "them"), number(pending, "it", "they"))
		w.offer("pawl events list --workflow %s --status pending", s.Name)
		w.offer("pawl cancel %s --where status=pending", s.Name)
	}
	if run := s.RetryRun(); run != nil {
		if reserved := len(s.ReservedBy(run)); reserved > 0 {
			w.add("%s by run %s, whose next will not be run again: %s can stay so, or be skipped.",
				ofItsEvents(reserved, "is held", "are held"), run.ID, number(reserved, "it", "they"))
			w.offer("pawl runs show %s %s", s.Name, run.ID)
			w.offer("pawl skip %s --where status=reserved", s.Name)
		}
	}
}

// explainUnread names the topics with events that no consumer of the present script takes.
func (w *Why) explainUnread(s *projections.State) {
	if s.Archived {
		return // explainArchived counts what is pending
	}
	w.begin(PartUnread)
	for _, waiting := range s.Waiting {
		if _, read := s.Definition().Subscriber(waiting.Topic); !read && waiting.Events > 0 {
			w.add("%s in topic %s, to which no consumer subscribes.",
				eventlog.Count(waiting.Events, "event")+number(waiting.Events, " waits", " wait"), waiting.Topic)
			w.once("pawl events list --workflow %s --topic %s", s.Name, waiting.Topic)
		}
	}
}

func (w *Why) explainBackoff(s *projections.State, wait decide.Wait) {
	name := s.Name
	if c, ok := s.Definition().Consumer(eventlog.Handler(wait.Subject)); ok && c.Concurrent() {
		w.set("Consumer %s of workflow %s has nothing to do until %s. Then it goes on by itself with an event that has "+
			"failed, or that its prepare has put off.", c.Name, name, wait.Until)
		w.offer("pawl jobs list --workflow %s --state retryable", name)
		return
	}
	if s.Backoff == nil || wait.Subject != "" {
		w.set("Workflow %s has nothing to do until event %q may be tried again, by itself at %s.", name, wait.Subject,
			wait.Until)
		for e := range s.Scheduled(wait.Until - 1) {
			if string(e.MessageID) != wait.Subject || e.ScheduledAt != wait.Until {
				continue
			}
			failed := ""
			if job := s.Event(e.Topic, e.MessageID); job != nil { // otherwise it is paged out, and less is known
				failed = ": attempt " + attemptOf(s, job)
				if n := len(job.Attempts); n > 0 {
					failed += " after a failure" + because(job.Attempts[n-1].Failure)
				}
			}
			w.set("Workflow %s has nothing to do until event %q of topic %s may be tried again, by itself at %s%s.",
				name, wait.Subject, e.Topic, wait.Until, failed)
			w.add("To run it at once, cancel it and then redrive it; its attempts then start from 1.")
			w.offer("pawl jobs show %s %s %s", name, e.Topic, shellWord(e.MessageID))
			w.offer("pawl cancel %s %s %s", name, e.Topic, shellWord(e.MessageID))
			break
		}
		w.offer("pawl jobs list --workflow %s --state retryable", name)
		return
	}
	why := "as the other side has asked it to" // this does not count as a failure (F13)
	if s.Backoff.Attempt > 0 {
		why = "after " + eventlog.Count(s.Backoff.Attempt, "transient failure") + " in a row"
	}
	w.set("Workflow %s backs off %s; it goes on by itself at %s.", name, why, wait.Until)
	run := s.RetryRun()
	if run == nil {
		run = LastFailed(s)
	}
	if run == nil {
		run = w.with.Cause
	}
	if run != nil {
		w.about(string(run.ID))
		w.add("The last was run %s of %s %s%s.", run.ID, run.Type, run.Handler, because(run.Failure))
		w.offer("pawl runs show %s %s", name, run.ID)
	}
	if s.PendingRetry != "" {
		w.add("%s; only next is run again.", settled(s.RetryRun()))
	}
	w.offer("pawl resume %s", name)
	w.explainHeldEvents(s, run, "resume")
}

// attemptOf says which attempt of the job comes next, as in "2 of 4 (maxAttempts: 3 retries)".
func attemptOf(s *projections.State, job *projections.TopicEvent) string {
	if c, ok := s.Definition().Subscriber(job.Topic); ok && c.MaxAttempts != nil {
		retries := *c.MaxAttempts
		return fmt.Sprintf("%d of %d (maxAttempts: %d %s)", job.Attempt(), retries+1, retries,
			number(retries, "retry", "retries"))
	}
	return fmt.Sprint(job.Attempt())
}

func (w *Why) explainApproval(s *projections.State, wait decide.Wait, m *projections.Mutation) {
	w.set("Mutation %s awaits approval; nothing has left.", wait.Subject)
	if m != nil {
		w.Since = m.RequestedAt
		w.set("%s awaits approval; nothing has left. Approving sends exactly the recorded parameters, once; "+
			"rejecting skips its events and goes on with next; until then %s.", callName(s, m), others(s, m, ""))
	}
	w.offer("pawl mutations show %s", wait.Subject)
	if s.Pause != nil {
		w.add("It can be approved once the workflow is resumed.")
	} else {
		w.offer("pawl approve %s", wait.Subject)
	}
	w.offer("pawl reject %s", wait.Subject)
}
