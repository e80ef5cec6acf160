package decide

import (
	"fmt"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// heldConcurrent is O9 for concurrent consumers: while runs of one are open or events held, a version may not drop it,
// what they are subscribed to, or its concurrency; and a consumer with a run or a retry may not become one (C9).
func heldConcurrent(s *projections.State, def *eventlog.Definition) *Refusal {
	for _, old := range s.Definition().Consumers {
		now, kept := def.Consumer(old.Name)
		if !old.Concurrent() {
			if run := lastOf(s, old.Name); kept && now.Concurrent() && run != nil {
				return refuse(Conflict, CodeHolds,
					"run %s of consumer %s is not over, so this version may not give the consumer concurrency", run.ID, old.Name).
					hint("pause the workflow, and deploy once the run is over (pawl why %s)", s.Name)
			}
			continue
		}
		var holds eventlog.EventRef
		what := ""
		for run := range s.OpenRuns() {
			if run.Handler == old.Name && (!kept || !now.Concurrent() || !subscribed(now, run.Event.Topic)) {
				holds = *run.Event
				what = "run " + string(run.ID) + " is not over and has " + named(holds)
				break
			}
		}
		for _, n := range s.Counts.Held {
			if what == "" && subscribed(old, n.Topic) && (!kept || !now.Concurrent() || !subscribed(now, n.Topic)) {
				holds = heldOf(s, n.Topic)
				what = named(holds) + " is held"
			}
		}
		if what == "" {
			continue
		}
		drops := "consumer " + string(old.Name)
		switch {
		case kept && !now.Concurrent():
			drops = "the concurrency of " + drops
		case kept:
			drops = "the subscription of " + drops + " to topic " + string(holds.Topic)
		}
		return refuse(Conflict, CodeHolds, "%s, so this version may not drop %s", what, drops).
			hint("keep it until nothing is held and no run is open; pawl why %s lists all of them", s.Name)
	}
	return nil
}

// named is how a refusal names an event.
func named(e eventlog.EventRef) string {
	return fmt.Sprintf("event %q of topic %s", eventlog.ClipName(e.MessageID), e.Topic)
}

// lastOf is the plain consumer's run that is not over, nil for none.
func lastOf(s *projections.State, handler eventlog.Handler) *projections.Run {
	for _, run := range []*projections.Run{s.CurrentRun(), s.RetryRun()} {
		if run != nil && run.Handler == handler {
			return run
		}
	}
	return nil
}

// heldOf is the oldest held event of the topic.
func heldOf(s *projections.State, topic eventlog.Topic) eventlog.EventRef {
	var oldest *projections.TopicEvent
	for _, e := range s.Events() {
		if e.Topic == topic && e.Held != nil && (oldest == nil || e.Created.Before(oldest.Created)) {
			oldest = e
		}
	}
	if oldest == nil {
		return eventlog.EventRef{Topic: topic}
	}
	return eventlog.EventRef{Topic: topic, MessageID: oldest.MessageID}
}

// keepsConcurrency refuses a repair that changes how many runs a consumer has at once, in which order or how often
// (C9).
func keepsConcurrency(s *projections.State, def *eventlog.Definition) *Refusal {
	for _, old := range s.Definition().Consumers {
		now, kept := def.Consumer(old.Name)
		if kept && !now.SameConcurrency(old) {
			return refuse(Invalid, "repair.concurrency", "a repair may not change concurrency, key or rate of consumer %s",
				old.Name).hint("keep them as they were, or deploy the file instead")
		}
	}
	return nil
}

// RepairWanted reports whether the workflow, or an event of it, waits for a repair (F7, C5).
func RepairWanted(s *projections.State) bool {
	for _, n := range s.Counts.Held {
		if n.Reason == eventlog.HeldRepair {
			return true
		}
	}
	return s.Maintenance != nil
}
