package simulation

import (
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// assist does what the engine says that the workflow waits for, and reports whether there is such
// a thing.
func (s *sim) assist(n *node, w *workflow) bool {
	state, ok := n.engine.State(w.name)
	wait, _ := n.engine.Why(w.name)
	if !ok || wait == nil {
		return false
	}
	m := eventlog.MutationID(wait.Subject)
	switch wait.Reason {
	case decide.ReasonUserPause:
		s.command(n, w, "resume", decide.Resume{})
	case decide.ReasonBlocked, decide.ReasonMaintenance:
		if s.chance(0.5) {
			s.redeploy(n, w, &state)
		} else {
			s.command(n, w, "resume", decide.Resume{})
		}
	case decide.ReasonApproval:
		if s.chance(0.2) {
			s.command(n, w, "reject", decide.Reject{Mutation: m, Comment: "not this one"})
		} else {
			s.command(n, w, "approve", decide.Approve{Mutation: m})
		}
	case decide.ReasonIndeterminate:
		s.command(n, w, "resolve",
			decide.Resolve{Mutation: m, Resolution: pick(s, decide.DidHappen, decide.DidNotHappen, decide.Skip,
				decide.TryAgain)})
	default:
		return false
	}
	return true
}

// assistHeld lets an operator do something about an event that is held, and reports whether there is one.
func (s *sim) assistHeld(n *node, w *workflow) bool {
	state, ok := n.engine.State(w.name)
	if !ok {
		return false
	}
	for run := range state.OpenRuns() { // whose next has still to run: no other run may have its event before (C1)
		if e := state.Event(run.Event.Topic, run.Event.MessageID); e != nil && e.Status == eventlog.EventStatusSkipped &&
			s.chance(0.5) {
			s.command(n, w, "redrive", decide.RedriveJob{Topic: e.Topic, MessageID: e.MessageID, IncludingUnknown: true})
			return true
		}
	}
	held := heldOf(&state)
	return len(held) > 0 && s.free(n, w, &state, pick(s, held...)) != ""
}

// help does what a workflow waits for, and reports whether nothing is left to do.
func (s *sim) help(n *node, w *workflow, helped map[*workflow]uint64) bool {
	state, ok := n.engine.State(w.name)
	if !ok {
		return true // its deploy never made it into the log
	}
	if !s.working(n, w.name) {
		s.pass(time.Second) // its lease was about to end, and it takes the partition again
		return false
	}
	wait, _ := n.engine.Why(w.name)
	if wait == nil {
		s.violate("%s does nothing and cannot say why", w.name)
		return false
	}
	do := func(what string, cmd decide.Command) {
		if helped[w] == state.Head.Revision {
			s.violate("%s waits for %s, and %s did not help", w.name, wait.Reason, what)
		}
		helped[w] = state.Head.Revision
		s.command(n, w, what, cmd)
	}
	if s.concurrent {
		plain, waits := decide.Next(&state, eventlog.At(s.clock.Now()), *n.name.Load()).(decide.Wait)
		if !waits {
			s.wait()
			return false
		}
		if wait = &plain; wait.Reason.Meaning() == decide.Rests {
			return s.helpConcurrent(n, w, &state)
		}
	}
	switch wait.Reason {
	case decide.ReasonUserPause:
		do("resume", decide.Resume{})
	case decide.ReasonBlocked:
		switch pin, _ := state.Definition().Operation(connectorName, opSend); {
		case state.Blocked != nil && state.Blocked.Reason == eventlog.BlockLogic, pin.Reconciles == s.mute.Load():
			s.redeploy(n, w, &state) // a resume alone would fail the same way again
		default:
			do("resume", decide.Resume{})
		}
	case decide.ReasonApproval:
		if state.Pause != nil {
			do("resume", decide.Resume{})
		} else {
			do("approve", decide.Approve{Mutation: eventlog.MutationID(wait.Subject)})
		}
	case decide.ReasonIndeterminate:
		m := eventlog.MutationID(wait.Subject)
		if !s.denied[m] && s.chance(0.3) {
			s.denied[m] = true // once: it is refused while the call can take effect (O1), and nothing else is
			s.command(n, w, "resolve", decide.Resolve{Mutation: m, Resolution: decide.DidNotHappen})
			return false
		}
		do("resolve", decide.Resolve{Mutation: m, Resolution: pick(s, decide.DidHappen, decide.Skip)})
	case decide.ReasonMaintenance:
		s.redeploy(n, w, &state)
	case decide.ReasonIdle, decide.ReasonArchived:
		return true
	case decide.ReasonScheduled, decide.ReasonWake:
		for e := range state.Scheduled(eventlog.At(s.clock.Now())) {
			if _, ok := state.Definition().Subscriber(e.Topic); ok {
				s.wait()
				return false
			}
		}
		return true
	default:
		s.wait()
	}
	return false
}

// helpConcurrent does what a workflow's concurrent consumers wait for, and reports whether nothing is left to do.
func (s *sim) helpConcurrent(n *node, w *workflow, state *projections.State) bool {
	if s.helpHeld(n, w, state) {
		return false
	}
	for _, todo := range s.owed(n, state) {
		wait, waits := todo.(decide.Wait)
		c, _ := state.Definition().Consumer(eventlog.Handler(wait.Subject))
		if !waits || wait.Reason.Meaning() == decide.GoesOn || c.Concurrent() { // an event of it was put off (C6)
			s.wait()
			return false
		}
	}
	return true
}

// helpHeld ends, in the calm, one of the holds that are left. Each way out ends the hold that it was taken for. It
// reports false when none is left that a person can end.
func (s *sim) helpHeld(n *node, w *workflow, state *projections.State) bool {
	held := slices.DeleteFunc(heldOf(state), func(e *projections.TopicEvent) bool {
		return e.Held.Reason == eventlog.HeldReconcile
	})
	if last := s.freed[w]; last != nil {
		s.freed[w] = nil
		for _, e := range held {
			if e.Topic == last.event.Topic && e.MessageID == last.event.MessageID && *e.Held == last.held {
				s.violate("event %s of topic %s in %s is held for %s, and %s did not help (C5)", e.MessageID, e.Topic, w.name,
					e.Held.Reason, last.what)
			}
		}
	}
	if len(held) == 0 {
		return false
	}
	e := pick(s, held...)
	if pin, ok := state.Definition().Operation(connectorName, opSend); ok && pin.Reconciles == s.mute.Load() {
		s.redeploy(n, w, state) // what a resume lets go on would fail the same way again
		return true
	}
	if what := s.free(n, w, state, e); what != "" {
		s.freed[w] = &freeing{eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID}, *e.Held, what}
	}
	return true
}

// free lets an operator end what holds the event, in one of the ways that there are. It reports false when there is
// none, because the engine is finding out.
func (s *sim) free(n *node, w *workflow, state *projections.State, e *projections.TopicEvent) (what string) {
	ref := eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID}
	m := eventlog.MutationID("")
	if run := state.Run(e.ReservedBy); run != nil {
		m = run.Mutation
	}
	ways := map[eventlog.HeldReason][]string{
		eventlog.HeldApproval:      {"approve", "approve", "approve", "reject", "skip"},
		eventlog.HeldIndeterminate: {"resolve"},
		eventlog.HeldPerson:        {"resume", "resume", "redrive"},
		eventlog.HeldRepair:        {"redeploy", "repair", "redrive"},
	}[e.Held.Reason]
	if len(ways) > 0 && e.Status == eventlog.EventStatusPending {
		ways = append(slices.Clip(ways), "skip", "cancel")
	}
	if len(ways) == 0 {
		return ""
	}
	switch what = pick(s, ways...); what {
	case "approve":
		s.command(n, w, what, decide.Approve{Mutation: m})
	case "reject":
		s.command(n, w, what, decide.Reject{Mutation: m})
	case "resolve":
		resolution := pick(s, decide.DidHappen, decide.Skip)
		if !s.calm {
			resolution = pick(s, decide.DidHappen, decide.DidNotHappen, decide.Skip, decide.TryAgain)
		}
		s.command(n, w, what, decide.Resolve{Mutation: m, Resolution: resolution})
	case "resume":
		s.command(n, w, what, decide.Resume{})
	case "redeploy":
		s.redeploy(n, w, state)
	case "repair":
		s.repair(n, w, state)
	case "redrive":
		s.command(n, w, what, decide.RedriveJob{Topic: ref.Topic, MessageID: ref.MessageID, IncludingUnknown: s.calm})
	case "skip":
		s.command(n, w, what, decide.SkipEvent{Topic: ref.Topic, MessageID: ref.MessageID, Reason: "not wanted"})
	case "cancel":
		s.command(n, w, what, decide.CancelJob{Topic: ref.Topic, MessageID: ref.MessageID})
	}
	s.did("free: " + what)
	return what
}

// owed is what the engine owes the workflow by its state.
func (s *sim) owed(n *node, state *projections.State) []decide.Todo {
	return decide.Owed(state, decide.Present{Now: eventlog.At(s.clock.Now()), Engine: *n.name.Load(),
		MaxHeld: s.policies.Held.Max})
}
