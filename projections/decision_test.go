package projections_test

import (
	"testing"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// O10: what a person decides on an event or a mutation is kept with it, until the next decision. What Pawl does by
// itself is no decision.
func TestO10_Decisions(t *testing.T) {
	t.Parallel()
	ann, bob := eventlog.Actor{Kind: "user", Name: "ann"}, eventlog.Actor{Kind: "api", Name: "bob"}
	call := eventlog.MutationCall{Connector: "mail", Operation: "send"}
	p := deployed(t).published("a", "b").reserving("R", "a")
	by := func(actor eventlog.Actor, facts ...eventlog.Fact) {
		t.Helper()
		p.Actor = actor
		p.then(facts...)
	}
	event := func(id eventlog.MessageID, what projections.DecisionKind, actor eventlog.Actor) {
		t.Helper()
		decides(t, p.event(id).Decision, what, actor)
	}
	mutation := func(what projections.DecisionKind, actor eventlog.Actor) {
		t.Helper()
		decides(t, p.State.Mutation("R").Decision, what, actor)
	}

	by(eventlog.System, &eventlog.EventSkipped{Topic: "in", MessageID: "b"})
	event("b", "", eventlog.Actor{})
	by(ann, &eventlog.EventRedriven{Topic: "in", MessageID: "b"})
	event("b", projections.DecidedRedrive, ann)
	by(bob, &eventlog.EventSkipped{Topic: "in", MessageID: "b"})
	event("b", projections.DecidedSkip, bob)

	by(eventlog.System, &eventlog.MutationApprovalRequested{Mutation: "R", Run: "R", Call: call})
	mutation("", eventlog.Actor{})
	by(ann, &eventlog.MutationApproved{Mutation: "R"}, &eventlog.MutationStarted{Mutation: "R", Run: "R", Call: call})
	mutation(projections.DecidedApproved, ann)
	by(bob, &eventlog.EventSkipRequested{Topic: "in", MessageID: "a"})
	by(eventlog.System, &eventlog.EventSkipped{Topic: "in", MessageID: "a", Run: "R"})
	event("a", projections.DecidedSkip, bob)
	by(bob, &eventlog.MutationApplied{Mutation: "R", Run: "R", ResolvedBy: eventlog.ResolvedByUserApplied})
	mutation(projections.DecidedResolved, bob)

	p = deployed(t).published("a", "b").reserving("R", "a")
	by(eventlog.System, &eventlog.MutationApprovalRequested{Mutation: "R", Run: "R", Call: call})
	by(ann, &eventlog.MutationFailed{Mutation: "R", Run: "R", ResolvedBy: eventlog.ResolvedByUserReject})
	mutation(projections.DecidedRejected, ann)
	by(eventlog.System, &eventlog.EventGivenUp{Topic: "in", MessageID: "b", Status: eventlog.EventStatusSkipped,
		Unknown: true})
	event("b", "", eventlog.Actor{})
	by(bob, &eventlog.EventSkipped{Topic: "in", MessageID: "b"})
	event("b", projections.DecidedSkip, bob) // that it was handled (O11)
}

func decides(t *testing.T, d *projections.Decision, what projections.DecisionKind, actor eventlog.Actor) {
	t.Helper()
	if what == "" {
		if d != nil {
			t.Errorf("decided: %+v, want nothing", *d)
		}
		return
	}
	if d == nil || d.What != what || d.By != actor || d.At == 0 {
		t.Errorf("decided: %+v, want %s by %s", d, what, actor.Name)
	}
}
