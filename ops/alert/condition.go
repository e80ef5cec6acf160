package alert

import (
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/projections"
)

// Condition is what an alert is about.
type Condition string

// The conditions.
const (
	// Person: only a person can let the workflow, or events of it, go on.
	Person Condition = "person"
	// Discarded: the attempts of events are used up (J2).
	Discarded Condition = "discarded"
	// Attention: it goes on trying by itself, and has failed so often that a person should look (F8, C7).
	Attention Condition = "attention"
)

// Conditions are all conditions.
func Conditions() []Condition { return []Condition{Person, Discarded, Attention} }

// title is the condition in words; the workflow's name comes before it.
var title = map[Condition]string{
	Person: "needs a person", Discarded: "has discarded events", Attention: "needs attention",
}

// first are the parts of an explanation that a condition is about, by its reason: they come first. For any other reason
// that part is what the workflow waits for, which comes first in every explanation.
var first = map[string]explain.Part{
	string(projections.AttentionHeld):      explain.PartHeld,
	string(projections.AttentionUnknown):   explain.PartUndecided,
	string(projections.AttentionDiscarded): explain.PartDiscarded,
	string(projections.AttentionProbing):   explain.PartProbing,
	string(projections.AttentionFailing):   explain.PartFailing,
}

// finding is a condition that holds.
type finding struct {
	reason string
	since  eventlog.Instant
}

// findings are the conditions that hold for a workflow. The state is nil where it is not known.
func findings(why explain.Why, s *projections.State) map[Condition]finding {
	found := map[Condition]finding{}
	if s != nil && s.Archived {
		return found
	}
	damaged := why.Attention != nil && why.Attention.Reason == projections.AttentionDamage
	switch {
	case why.Reason != nil && why.NeedsPerson && (*why.Reason == decide.ReasonUserPause ||
		why.Reason.Meaning() == decide.NeedsPerson) && *why.Reason != decide.ReasonHeld:
		found[Person] = finding{string(*why.Reason), why.Since}
	case damaged:
		found[Person] = finding{string(projections.AttentionDamage), why.Attention.Since}
	}
	if s == nil {
		return found
	}
	_, already := found[Person]
	switch {
	case already:
	case s.Counts.Undecided > 0:
		found[Person] = finding{string(projections.AttentionUnknown), s.Counts.UndecidedSince}
	case s.HeldForPerson() > 0:
		found[Person] = finding{string(projections.AttentionHeld), s.Counts.HeldSince}
	}
	if s.Counts.Discarded > 0 {
		found[Discarded] = finding{string(projections.AttentionDiscarded), s.Counts.DiscardedSince}
	}
	switch {
	case s.Backoff != nil && s.Backoff.Attention != 0:
		found[Attention] = finding{string(projections.AttentionTransient), s.Backoff.Attention}
	case len(s.Counts.Probing) > 0:
		found[Attention] = finding{string(projections.AttentionProbing), s.Counts.Probing[0].Since}
	case s.Counts.Attention > 0:
		found[Attention] = finding{string(projections.AttentionFailing), s.Counts.AttentionSince}
	case s.Counts.Owing > 0:
		found[Attention] = finding{string(projections.AttentionFailing), s.Counts.OwingSince}
	}
	return found
}
