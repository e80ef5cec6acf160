package explain

import (
	"fmt"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// explainIdle says that nothing is due, and which events wait although they were looked at.
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

// explainArchived says what an archived workflow has left over.
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
