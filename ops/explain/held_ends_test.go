package explain

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/eventlog"
)

// A tool that is another one than at the deploy is accepted by a deploy. No other command frees its events for good.
func TestHeldBecauseAToolHasChanged(t *testing.T) {
	t.Parallel()
	l := begin(t, eventlog.Consumer{Concurrency: 8}, "a", "b")
	l.fail("a", eventlog.Precondition, deploy.CodeChanged)
	accept := []string{"deploy the script again to accept that, then resume"}
	l.check("", true, accept, []string{"pawl deploy FILE", "pawl resume shop"})
	l.fail("b", eventlog.Precondition, deploy.CodeChanged)
	l.check(decide.ReasonHeld, true, accept, []string{"pawl deploy FILE", "pawl resume shop"})
	for _, command := range l.why().Commands {
		if command == "pawl resume shop" {
			t.Errorf("a resume is named before the deploy: %q", l.why().Commands)
		} else if command == "pawl deploy FILE" {
			break
		}
	}
	l.now = l.now.Add(time.Second)
	l.do(decide.Deploy{Filename: "w.ts", Source: "…", SourceHash: "2", Definition: *l.state.Definition()})
	l.check(decide.ReasonHeld, true, []string{"the script has been deployed since (2.0): pawl resume shop"},
		[]string{"pawl resume shop"})
	if slices.Contains(l.why().Commands, "pawl deploy FILE") {
		t.Errorf("a deploy is named after the deploy: %q", l.why().Commands)
	}
	l.do(decide.SkipEvent{Topic: "in", MessageID: "a"})
	if slices.Contains(l.why().Commands, "pawl deploy FILE") {
		t.Errorf("a deploy is named for the one event after the deploy: %q", l.why().Commands)
	}
}

// Of several calls, those are named of which a person cannot say yet that they did not happen, with the time from
// which a person can. The command is offered once it is accepted for one of them (O1).
func TestCallsThatCanStillTakeEffectAreNamed(t *testing.T) {
	t.Parallel()
	l := begin(t, eventlog.Consumer{Concurrency: 8}, "a", "b", "c")
	var calls []eventlog.MutationID
	for _, id := range []string{"a", "b"} {
		m := l.call(id, true)
		calls = append(calls, m)
		l.uncertain(m)
	}
	for _, m := range calls {
		for l.state.Mutation(m).Status != eventlog.MutationStatusIndeterminate {
			l.now = l.state.Mutation(m).ReconcileAt
			l.do(decide.SettleMutation{Mutation: m, By: eventlog.ResolvedByReconcile, OverAt: l.now,
				Outcome: decide.Settlement{Status: decide.Uncertain,
					Failure: &eventlog.Failure{Class: eventlog.Transient, Code: "call.unknown", Message: "not known yet"}}})
		}
	}
	until := l.now.Add(time.Minute)
	outlook := map[eventlog.MutationID]engine.Outlook{calls[0]: {MayTakeEffect: true, Until: until},
		calls[1]: {MayTakeEffect: true}}
	why := func() Why {
		return Workflow(l.state, Owed(l.state, l.present()), l.present(),
			Beside{Outlook: func(_ eventlog.WorkflowName, id eventlog.MutationID) engine.Outlook { return outlook[id] }})
	}
	const command = "pawl resolve --where workflow=shop,held=indeterminate --did-not-happen"
	told := why()
	for _, says := range []string{
		"2 calls can still take effect. You can say that it did not happen: of mutation R1 (m.send) for event " +
			"\"a\" (“Order a”) of topic in from " + until.String() + " on; of mutation " + string(calls[1]),
		"for a person to say whether their calls were applied",
	} {
		if !strings.Contains(told.Message, says) {
			t.Errorf("does not say %q: %s", says, told.Message)
		}
	}
	if slices.Contains(told.Commands, command) {
		t.Errorf("a command is offered that is refused for both: %q", told.Commands)
	}
	delete(outlook, calls[1])
	if told = why(); !strings.Contains(told.Message, "1 call can still take effect") ||
		!slices.Contains(told.Commands, command) {
		t.Errorf("with one that is over: %s %q", told.Message, told.Commands)
	}
}
