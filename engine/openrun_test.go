package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/process"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// openRun is a workflow, and an engine named E1, after these facts: run R1 of a concurrent consumer has its call in
// flight, and more follow.
func openRun(t *testing.T, now time.Time, ending connector.Ending, more ...eventlog.Fact) (*runner, *calls) {
	t.Helper()
	event := eventlog.EventRef{Topic: "in", MessageID: "a"}
	facts := append([]eventlog.Fact{
		&eventlog.WorkflowDeployed{Version: "1.0", Definition: eventlog.Definition{
			Consumers: []eventlog.Consumer{{Name: "c", Subscribe: []eventlog.Topic{"in"}, Concurrency: 2}},
		}},
		&eventlog.EventPublished{Topic: event.Topic, MessageID: event.MessageID, Title: "A", Payload: []byte(`{}`)},
		&eventlog.RunStarted{Run: "R1", Handler: "c", HandlerType: eventlog.ConsumerHandler, Version: "1.0", Engine: "E1",
			Phase: eventlog.PhasePreparing, Event: &event},
		&eventlog.EventReserved{Topic: event.Topic, MessageID: event.MessageID, Run: "R1"},
		&eventlog.RunPrepared{Run: "R1", Result: []byte(`{}`)},
		&eventlog.RunAdvanced{Run: "R1", Phase: eventlog.PhaseMutating},
		&eventlog.MutationStarted{Mutation: "R1", Run: "R1", Engine: "E1", Deadline: eventlog.At(now.Add(time.Minute)),
			Call: eventlog.MutationCall{Connector: "m", Operation: "send"}},
	}, more...)
	d := projections.NewDraft(new(projections.State), eventlog.Transition{Workflow: "w", At: eventlog.At(now)}, 1)
	for _, fact := range facts {
		if err := d.Add(fact); err != nil {
			t.Fatalf("fold %s: %v", fact.FactType(), err)
		}
	}
	e := &process.Process{Name: "E1", Config: Config{Clock: clock.NewManual(now), Connectors: endings{ending: ending}}}
	a := &aggregate{engine: e, name: "w"}
	a.memory.Set(d.State())
	c := &calls{workflow: a}
	return &runner{engine: e, workflow: a, calls: c}, c
}

var openSince = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// F6: a request leaves while its run is active and this engine's, also one that runs beside others (C10).
func TestF6_ARequestLeavesForAnActiveRunOnly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		more []eventlog.Fact
		why  string
		lost bool // the partition is another engine's by now
	}{
		"active": {},
		"lost":   {why: "does not own", lost: true},
		"ended": {more: []eventlog.Fact{&eventlog.RunFailed{Run: "R1", Status: eventlog.RunStatusPausedReconcile}},
			why: "its run is not active any more"},
		"crashed": {more: []eventlog.Fact{&eventlog.RunCrashed{Run: "R1"}}, why: "its run is not active any more"},
		"settled": {more: []eventlog.Fact{&eventlog.MutationFailed{Mutation: "R1", Run: "R1"}},
			why: "it is not in flight any more"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, calls := openRun(t, openSince, connector.Ending{}, c.more...)
			call := started{Mutation: calls.workflow.state().Mutation("R1"), decided: &process.Tenure{}}
			if c.lost {
				call.decided = nil
			}
			failure := calls.stillOurs(call)
			if (failure != nil) != (c.why != "") || failure != nil && !strings.Contains(failure.Message, c.why) {
				t.Errorf("may leave: %+v, want %q", failure, c.why)
			}
		})
	}
}

// C8, F5: how long the outside may go on with a call is that of the calls of runs beside each other too.
func TestF5_TheUnseenTimeOfRunsBesideEachOther(t *testing.T) {
	t.Parallel()
	_, calls := openRun(t, openSince, connector.Ending{Unseen: time.Hour})
	if got := calls.unseenOf(calls.workflow.state()); got != time.Hour {
		t.Errorf("the outside is given %s, want that of its connector, 1h", got)
	}
}

// A drain waits for the runs that are beside each other too.
func TestADrainWaitsForEveryRun(t *testing.T) {
	t.Parallel()
	if r, _ := openRun(t, openSince, connector.Ending{}); noActiveRun(r) {
		t.Error("the drain ends while a run is active")
	}
	r, _ := openRun(t, openSince, connector.Ending{}, &eventlog.RunFailed{Run: "R1",
		Status: eventlog.RunStatusPausedReconcile})
	if !noActiveRun(r) {
		t.Error("the drain waits for a run that has ended")
	}
}
