package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Owed is what the workflow has to do next; a wait only where it has nothing else to do.
func Owed(s *projections.State, at decide.Present) decide.Todo {
	owed := decide.Owed(s, at)
	for _, todo := range owed {
		if _, waits := todo.(decide.Wait); !waits {
			return todo
		}
	}
	return owed[0]
}

// BeginsNoRun says whether so many calls in a row have no known outcome that the consumer begins no run any more (C3).
func BeginsNoRun(f *eventlog.HandlerUncertainCounted) bool {
	return len(f.Mutations) >= decide.UncertainStreak
}

// Stepper is the process that does the workflow's work, as the facts of the workflow name it. An explanation speaks for
// that process, whichever process makes it.
func Stepper(s *projections.State) string {
	if run := s.CurrentRun(); run != nil {
		return run.Engine
	}
	if run := s.RetryRun(); run != nil {
		if m := s.Mutation(run.Mutation); m != nil {
			return m.Engine
		}
	}
	for run := range s.OpenRuns() {
		if m := s.Mutation(run.Mutation); m != nil && run.EndedAt != 0 && m.Status.Unresolved() {
			return m.Engine
		} else if run.Status == eventlog.RunStatusActive {
			return run.Engine
		}
	}
	return ""
}

// foremost is the most important wait of a workflow with concurrent consumers: one that holds the whole workflow, else
// one that only a person ends (first one for which a consumer begins no run), else the one that ends first by itself.
func foremost(s *projections.State, wait decide.Wait, standings []decide.ConsumerStatus,
	at decide.Present) decide.Wait {
	switch wait.Reason {
	case decide.ReasonStorage, decide.ReasonNoWorker, decide.ReasonNoOwner:
		return wait
	}
	if plain, ok := decide.Next(s, at.Now, at.Engine).(decide.Wait); ok {
		wait = plain
	}
	switch meaning := wait.Reason.Meaning(); {
	case meaning == decide.StoppedByPerson || meaning == decide.NeedsPerson:
		return wait
	}
	for _, st := range standings {
		for _, other := range st.Waits {
			if other.Reason.Meaning() == decide.NeedsPerson {
				return other
			}
		}
	}
	if s.HeldForPerson() > 0 {
		return decide.Wait{Reason: decide.ReasonHeld}
	}
	soonest := decide.Wait{}
	consider := func(other decide.Wait) {
		if other.Reason.Meaning() == decide.NeedsPerson && soonest.Reason.Meaning() != decide.NeedsPerson ||
			soonest.Reason == "" || other.Until != 0 && other.Until < soonest.Until {
			soonest = other
		}
	}
	if wait.Reason.Meaning() == decide.GoesOn {
		consider(wait)
	}
	for _, st := range standings {
		for _, other := range st.Waits {
			consider(other)
		}
		for run, next := range s.Asking(st.Consumer.Name) {
			consider(decide.Wait{Reason: decide.ReasonReconcile, Until: next, Subject: string(run.Mutation)})
			break
		}
	}
	if soonest.Reason == "" {
		return wait
	}
	return soonest
}

// goesOn reports whether a workflow that has held events has other ones that are under way, or due at some time.
func goesOn(s *projections.State, standings []decide.ConsumerStatus) bool {
	return slices.ContainsFunc(standings, func(st decide.ConsumerStatus) bool {
		asking := false
		for range s.Asking(st.Consumer.Name) {
			asking = true
			break
		}
		return asking || st.Active+st.Returning+st.Braked+st.Offers > 0
	})
}

// explainConcurrent explains the state of each concurrent consumer, and every event that is held.
func (w *Why) explainConcurrent(s *projections.State, standings []decide.ConsumerStatus) {
	for _, st := range standings {
		w.explainStanding(s, st)
	}
	if len(standings) > 0 || s.HeldEvents() > 0 {
		w.explainHeld(s)
	}
}

// explainStanding says how many runs of a consumer are under way, what waits, and why.
func (w *Why) explainStanding(s *projections.State, st decide.ConsumerStatus) {
	w.begin(PartStanding)
	c, h := st.Consumer, s.Handler(st.Consumer.Name)
	var waits []string
	if st.Active > 0 {
		w.add("Consumer %s has %d of its %d places taken.", c.Name, st.Active, c.Concurrency)
	}
	if st.Returning > 0 {
		waits = append(waits, eventlog.Count(st.Returning, "run")+" for a place")
	}
	if st.Braked > 0 {
		waits = append(waits, eventlog.Count(st.Braked, "approved call")+" until the consumer may call its target again")
	}
	if st.Offers > 0 && !s.Archived { // else no run will take them
		waits = append(waits, eventlog.Count(st.Offers, "event")+" for a run")
	}
	if st.Behind > 0 && !s.Archived {
		waits = append(waits, eventlog.Count(st.Behind, "event")+" until an earlier one of the same key has ended")
	}
	if len(waits) > 0 {
		w.add("At consumer %s wait: %s.", c.Name, strings.Join(waits, ", "))
	}
	if st.Full && !s.Archived {
		w.add("No run begins for another event of %s: %d of its events %s held, or %s a run that waits for a place. "+
			"One begins when fewer than %d are (policies.held.max).", c.Name, st.KeptBack, number(st.KeptBack, "is", "are"),
			number(st.KeptBack, "has", "have"), st.MaxHeld)
	}
	for _, wait := range st.Waits {
		switch wait.Reason {
		case decide.ReasonPlaces:
			if h.Probing == nil && st.Active >= c.Concurrency {
				w.add("All places of %s are taken: what waits begins when a run is over.", c.Name)
			}
		case decide.ReasonBackoff:
			if w.Reason != nil && *w.Reason == decide.ReasonHeld { // else it is what the workflow waits for
				w.add("The next of them is tried again at %s.", wait.Until)
			}
		case decide.ReasonRate:
			w.add("It begins at most %s (rate): the next run at %s.", c.Rate, wait.Until)
		case decide.ReasonUncertain:
			w.add("No run of a pending event of %s begins until the outcome of one of these %d calls is known, or the workflow "+
				"is resumed.", c.Name, len(h.Uncertain))
			for _, m := range h.Uncertain[:min(len(h.Uncertain), maxNamed)] {
				w.offer("pawl mutations show %s", m)
			}
			w.offer("pawl resume %s", s.Name)
		}
	}
	if h.Probing != nil && !s.Archived {
		w.explainProbing(s, st, h.Probing)
	}
}

// waitsForOutcome reports whether no run of the consumer begins before the outcome of a call is known (C3).
func waitsForOutcome(st decide.ConsumerStatus) bool {
	return slices.ContainsFunc(st.Waits, func(w decide.Wait) bool { return w.Reason == decide.ReasonUncertain })
}

// explainProbing says that the target of a consumer is the cause of its failures, and what ends that (C7).
func (w *Why) explainProbing(s *projections.State, st decide.ConsumerStatus, p *projections.Probing) {
	w.begin(PartProbing)
	c := st.Consumer
	next := fmt.Sprintf("the next is due at %s", p.At)
	returns := false
	for range s.Returning(c.Name) {
		returns = true
		break
	}
	switch {
	case waitsForOutcome(st):
		next = "the next waits for the outcome of one of the calls above"
	case st.Active == 0 && st.Offers == 0 && !returns:
		next = "nothing is left to try it with, so that the next event tries it"
	}
	w.add("Three events of %s in a row failed alike, so its target is to blame since %s (%s: %s). It is tried with one "+
		"run at a time, %s so far; %s, and its success lets all go on.", c.Name, p.Since, p.Class,
		quoted(p.Message), eventlog.Count(p.Attempt, "failure"), next)
	if remedy := remedies[eventlog.BlockReason(p.Class)]; remedy != "" && p.Class != eventlog.Transient {
		w.add("%s", remedy)
	}
	if !waitsForOutcome(st) { // else it is offered there
		w.offer("pawl resume %s", s.Name)
	}
	if p.Class == eventlog.Auth || p.Class == eventlog.Permission {
		w.add("If its events are at fault and not the target, end those that failed with this error.")
		for _, topic := range c.Subscribe {
			w.offer("pawl skip %s --where topic=%s,class=%s", s.Name, topic, p.Class)
		}
	}
}
