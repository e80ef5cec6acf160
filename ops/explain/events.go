package explain

import (
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// maxNamed is how many events of a run are named.
const maxNamed = 3

// explainHeldEvents names the events that the run was for, and how to go on without them. A skip alone ends no hold, so
// the action that ends it is named too (O6, O7, F9). Of a run that had chosen no events it says nothing.
func (w *Why) explainHeldEvents(s *projections.State, run *projections.Run, end string) {
	if run == nil || len(run.Reserved) == 0 {
		return
	}
	var names []string
	for _, ref := range run.Reserved[:min(len(run.Reserved), maxNamed)] {
		names = append(names, eventName(s, ref))
	}
	if more := len(run.Reserved) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	left, holds := 0, false
	for _, ref := range run.Reserved {
		e := s.Event(ref.Topic, ref.MessageID)
		if e == nil || e.SkipRequested {
			continue // finished, paged out, or to be skipped already
		}
		held := e.Status == eventlog.EventStatusReserved && e.ReservedBy == run.ID
		if !held && e.Status != eventlog.EventStatusPending {
			continue
		}
		left, holds = left+1, holds || held
		if left <= maxNamed {
			w.offer("%s", eventCommand("skip", s.Name, e.Topic, e.MessageID))
		}
	}
	w.add("The run was for %s", strings.Join(names, " and "))
	if left == 0 {
		w.current().message += "."
		return
	}
	w.current().message += fmt.Sprintf(", which %s.", number(len(run.Reserved), waitsFor(holds, "waits"),
		waitsFor(holds, "wait")))
	w.add("To go on without %s, skip %s and %s; pawl redrive brings back what was skipped.", number(left, "it", "them"),
		number(left, "it", "them"), end)
}

// waitsFor says whether a run's events are kept for its retry, or free again.
func waitsFor(holds bool, wait string) string {
	if holds {
		return wait + " for its retry"
	}
	return wait + " again"
}

// attendUndecided names the events that ended with an accepted loss, and how a person decides on each.
func (w *Why) attendUndecided(s *projections.State) {
	n := s.Counts.Undecided
	if n == 0 {
		return
	}
	w.begin(PartUndecided)
	var names []string
	for i, u := range s.Counts.UndecidedFirst {
		if i == maxNamed {
			break
		}
		name := fmt.Sprintf("event %q of topic %s", u.MessageID, u.Topic)
		if u.Title != "" && u.Title != string(u.MessageID) {
			name = fmt.Sprintf("event %q%s of topic %s", u.MessageID, titled(u.Title), u.Topic)
		}
		names = append(names, name)
		if !s.Archived {
			w.offer("%s", eventCommand("redrive", s.Name, u.Topic, u.MessageID, "--including-unknown"))
		}
		w.offer("%s", eventCommand("skip", s.Name, u.Topic, u.MessageID))
	}
	if more := n - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
		w.offer("pawl jobs list --workflow %s --state cancelled", s.Name)
	}
	w.add("%s since %s with an accepted loss of the log, and may have been handled or not: %s.",
		ofItsEvents(n, "was ended", "were ended"), s.Counts.UndecidedSince, strings.Join(names, ", "))
	redrive := fmt.Sprintf("A redrive with --including-unknown does %s again; a", number(n, "it", "each"))
	if s.Archived {
		redrive = "A"
	}
	w.add("Look at the other side. %s skip says that %s.", redrive, number(n, "it was handled", "one was handled"))
}

func pendingEvents(s *projections.State) int {
	pending := 0
	for _, waiting := range s.Waiting {
		pending += waiting.Events
	}
	return pending
}

func unreadEvents(s *projections.State) int {
	unread := 0
	for _, waiting := range s.Waiting {
		if _, read := s.Definition().Subscriber(waiting.Topic); !read {
			unread += waiting.Events
		}
	}
	return unread
}
