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
func (w *Why) explainWait(s *projections.State, wait decide.Wait, standings []decide.ConsumerStatus) {
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
		w.explainReconcile(s, wait, m)
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
		held := ofItsEvents(s.HeldForPerson(), "waits", "wait")
		if goesOn(s, standings) {
			w.set("Of workflow %s, %s for a person or a repair; what else it has goes on by itself.", name, held)
		} else {
			w.set("Workflow %s has only held events left: %s for a person or a repair.", name, held)
		}
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

// addPause says that the workflow is paused although something of it is still under way: that comes to its end.
func (w *Why) addPause(s *projections.State) {
	switch {
	case s.Pause == nil || s.Archived:
		return
	case s.Pause.Restored != nil:
		since := w.Since
		w.begin(PartNow)
		w.explainRestored(s)
		w.Since = since // it is that of what is under way
	default:
		w.begin(PartNow)
		w.add("The workflow was %s: what is under way comes to its end, and nothing new begins until it is resumed.",
			pausedBy(s))
		w.addHold(s.Blocked)
		w.offer("pawl resume %s", s.Name)
	}
	// A person has to look at a restored workflow, and at what a resume ends beside the pause.
	w.NeedsPerson = w.NeedsPerson || s.Pause.Restored != nil || s.Blocked != nil || s.Maintenance != nil
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
	skips := w.addApproved(s)
	w.addHold(s.Blocked)
	w.offer("pawl events list --workflow %s --status pending", s.Name)
	for _, command := range skips {
		w.offer("%s", command)
	}
	w.offer("pawl resume %s", s.Name)
}

// addApproved says of calls that a person had approved or was asked about at the backup that they may have left since.
// It returns the commands that keep approved ones from leaving at the resume, for some of them.
func (w *Why) addApproved(s *projections.State) (skips []string) {
	approved, asked := 0, 0
	for run := range s.OpenRuns() {
		switch m := s.Mutation(run.Mutation); {
		case m == nil || m.Status != eventlog.MutationStatusAwaitingApproval:
		case m.ApprovedAt == 0:
			asked++
		default:
			if approved++; approved <= maxNamed {
				skips = append(skips, eventCommand("skip", s.Name, run.Event.Topic, run.Event.MessageID))
			}
		}
	}
	if approved > 0 {
		w.add("Calls that were approved before the backup and waited for a place (%d) leave at the resume, also one that "+
			"has left since then: skip the event of such a call.", approved)
	}
	if asked > 0 {
		w.add("Of calls that wait for an approval (%d), it is not known either whether they have left since the backup.",
			asked)
	}
	return skips
}

// addHold says that the system holds the paused workflow too; nil if it does not.
func (w *Why) addHold(b *projections.Block) {
	if b != nil {
		w.add("The system holds it too (%s): %s `pawl resume` ends both.", b.Reason, holdOf(b))
	}
}

func (w *Why) explainBackoff(s *projections.State, wait decide.Wait) {
	name := s.Name
	if c, ok := s.Definition().Consumer(eventlog.Handler(wait.Subject)); ok && c.Concurrent() {
		w.set("Consumer %s of workflow %s has nothing to do until %s. Then it goes on by itself with an event that has "+
			"failed, or that its prepare has put off.", c.Name, name, wait.Until)
		w.offer("pawl jobs list --workflow %s --state retryable", name)
		if resumeTries(s, c.Name) {
			w.offer("pawl resume %s", name)
		}
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
			w.offer("%s", eventCommand("jobs show", name, e.Topic, e.MessageID))
			w.offer("%s", eventCommand("cancel", name, e.Topic, e.MessageID))
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

// resumeTries reports whether something of the concurrent consumer waits that a resume makes due at once: it backs off
// after a transient failure (F8). Of an event in the store alone that is not known, and a resume does no harm.
func resumeTries(s *projections.State, consumer eventlog.Handler) bool {
	for run := range s.Returning(consumer) {
		if run.Owes && run.RetryAt != 0 {
			return true
		}
	}
	return slices.ContainsFunc(s.ScheduledFor(consumer), func(ref eventlog.EventRef) bool {
		e := s.Event(ref.Topic, ref.MessageID)
		return e == nil || e.BacksOff()
	})
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
