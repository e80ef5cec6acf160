package projections_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/foldtest"
)

// past is a deployed workflow whose facts the test chooses.
type past struct {
	t *testing.T
	*foldtest.History
}

func deployed(t *testing.T) *past {
	t.Helper()
	h := foldtest.NewHistory(foldtest.NewLog(1), "w")
	if _, err := h.Step(); err != nil {
		t.Fatal(err)
	}
	return &past{t, h}
}

// then appends the facts as one transition.
func (p *past) then(facts ...eventlog.Fact) *past {
	p.t.Helper()
	if err := p.try(facts...); err != nil {
		p.t.Fatal(err)
	}
	return p
}

func (p *past) try(facts ...eventlog.Fact) error {
	_, err := p.Append(func() {
		for _, f := range facts {
			p.Add(f)
		}
	})
	return err
}

func (p *past) published(ids ...eventlog.MessageID) *past {
	p.t.Helper()
	for _, id := range ids {
		in := eventlog.InputID("in-" + id)
		p.then(&eventlog.InputRegistered{Input: in, Source: "push", Type: "t", ExternalID: string(id)},
			&eventlog.EventPublished{Topic: "in", MessageID: id, Title: "t", Payload: []byte(`1`),
				CausedBy: []eventlog.InputID{in}})
	}
	return p
}

// reserving starts a consumer's run that reserves the events and stands in mutating.
func (p *past) reserving(run eventlog.RunID, ids ...eventlog.MessageID) *past {
	p.t.Helper()
	var facts []eventlog.Fact
	if p.State.Session == "" {
		facts = append(facts, &eventlog.SessionStarted{Session: "S-" + eventlog.SessionID(run)})
		p.then(facts...)
		facts = nil
	}
	facts = append(facts, startOf(run, p.State.Session), &eventlog.RunPrepared{Run: run, Result: []byte(`{}`)})
	for _, id := range ids {
		facts = append(facts, &eventlog.EventReserved{Topic: "in", MessageID: id, Run: run})
	}
	return p.then(append(facts, &eventlog.RunAdvanced{Run: run, Phase: eventlog.PhaseMutating})...)
}

func startOf(run eventlog.RunID, session eventlog.SessionID) *eventlog.RunStarted {
	return &eventlog.RunStarted{Run: run, Handler: "work", HandlerType: eventlog.ConsumerHandler, Version: "1.0",
		Session: session, Phase: eventlog.PhasePreparing, Engine: "e"}
}

func (p *past) event(id eventlog.MessageID) *projections.TopicEvent {
	p.t.Helper()
	e := p.State.Event("in", id)
	if e == nil {
		p.t.Fatalf("no event %s", id)
	}
	return e
}

var logicFailure = eventlog.Failure{Class: eventlog.Logic, Code: "script.threw", Message: "no"}

func failed(run eventlog.RunID) *eventlog.RunFailed {
	return &eventlog.RunFailed{Run: run, Status: eventlog.RunStatusFailedLogic, Failure: logicFailure}
}

func ref(id eventlog.MessageID) eventlog.EventRef {
	return eventlog.EventRef{Topic: "in", MessageID: id}
}

// TestBrokenLogs: what cannot follow is refused, with a reason, and the state stays.
func TestBrokenLogs(t *testing.T) {
	t.Parallel()
	call := eventlog.MutationCall{Connector: "mail", Operation: "send"}
	applied := func(p *past) *past {
		return p.published("a").reserving("R", "a").
			then(&eventlog.MutationStarted{Mutation: "R", Run: "R", Call: call}).
			then(&eventlog.MutationApplied{Mutation: "R", Run: "R"})
	}
	none := func(p *past) *past { return p }
	running := func(p *past) *past { return p.published("a", "b").reserving("R", "a") }
	for name, c := range map[string]struct {
		given func(*past) *past
		facts []eventlog.Fact
		want  string
	}{
		"second run at once":    {running, []eventlog.Fact{startOf("R2", "S-R")}, "while run R is not over"},
		"run without a session": {none, []eventlog.Fact{startOf("R", "S")}, "session S, which is not open"},
		"run of an ended session": {func(p *past) *past {
			return p.then(&eventlog.SessionStarted{Session: "S"}).then(&eventlog.SessionEnded{Session: "S"})
		}, []eventlog.Fact{startOf("R", "S")}, "which is not open"},
		"second session at once": {running, []eventlog.Fact{&eventlog.SessionStarted{Session: "S2"}},
			"while session S-R is open"},
		"end of another session": {running, []eventlog.Fact{&eventlog.SessionEnded{Session: "S2"}}, "not open"},
		"consumer starts executing": {func(p *past) *past {
			return p.then(&eventlog.SessionStarted{Session: "S"})
		}, []eventlog.Fact{&eventlog.RunStarted{Run: "R", Handler: "work", HandlerType: eventlog.ConsumerHandler,
			Session: "S", Phase: eventlog.PhaseExecuting}}, "cannot start in phase"},
		"run of an unknown handler": {func(p *past) *past {
			return p.then(&eventlog.SessionStarted{Session: "S"})
		}, []eventlog.Fact{&eventlog.RunStarted{Run: "R", Handler: "gone", HandlerType: eventlog.ConsumerHandler,
			Session: "S", Phase: eventlog.PhasePreparing}}, "handler gone is not known"},
		"retry of an unknown run": {func(p *past) *past {
			return p.then(&eventlog.SessionStarted{Session: "S"})
		}, []eventlog.Fact{&eventlog.RunStarted{Run: "R", Handler: "work", HandlerType: eventlog.ConsumerHandler,
			Session: "S", Phase: eventlog.PhaseEmitting, RetryOf: "Q"}}, "run Q, which is not known"},
		"phase backwards": {running,
			[]eventlog.Fact{&eventlog.RunAdvanced{Run: "R", Phase: eventlog.PhasePrepared}}, "from mutating to prepared"},
		"phase stays": {running,
			[]eventlog.Fact{&eventlog.RunAdvanced{Run: "R", Phase: eventlog.PhaseMutating}}, "from mutating to mutating"},
		"phase of a producer": {func(p *past) *past {
			return p.then(&eventlog.SessionStarted{Session: "S"}).then(startOf("R", "S"))
		}, []eventlog.Fact{&eventlog.RunAdvanced{Run: "R", Phase: eventlog.PhaseExecuting}}, "from preparing to executing"},
		"unknown phase": {running, []eventlog.Fact{&eventlog.RunAdvanced{Run: "R", Phase: "done"}}, "cannot go"},
		"phase of an unknown run": {none, []eventlog.Fact{&eventlog.RunAdvanced{Run: "R", Phase: eventlog.PhaseMutating}},
			"run R is not known"},
		"commit of an ended run": {func(p *past) *past {
			return running(p).then(failed("R"))
		}, []eventlog.Fact{&eventlog.RunCommitted{Run: "R"}}, "while run \"\" is current"},
		"failure of an ended run": {func(p *past) *past {
			return running(p).then(failed("R"))
		}, []eventlog.Fact{failed("R")}, "is current"},
		"ended run active again": {func(p *past) *past {
			return running(p).then(failed("R"))
		}, []eventlog.Fact{&eventlog.RunReactivated{Run: "R"}}, "run R is not current"},
		"ended run suspended": {func(p *past) *past {
			return running(p).then(failed("R"))
		}, []eventlog.Fact{&eventlog.RunSuspended{Run: "R"}}, "run R is not current"},
		"event published twice": {running, []eventlog.Fact{&eventlog.EventPublished{Topic: "in", MessageID: "a"}},
			"published already"},
		"event of unknown input": {none,
			[]eventlog.Fact{&eventlog.EventPublished{Topic: "in", MessageID: "a", CausedBy: []eventlog.InputID{"I"}}},
			"input I of event a in in is not known"},
		"update of unknown event": {none, []eventlog.Fact{&eventlog.EventRepublished{Topic: "in", MessageID: "a"}},
			"event a in in is not known"},
		"reserved twice": {running,
			[]eventlog.Fact{&eventlog.EventReserved{Topic: "in", MessageID: "a", Run: "R"}},
			"is reserved and cannot be reserved"},
		"reserved by unknown run": {running,
			[]eventlog.Fact{&eventlog.EventReserved{Topic: "in", MessageID: "b", Run: "Q"}}, "run Q is not known"},
		"transfer of a pending one": {running,
			[]eventlog.Fact{&eventlog.EventTransferred{Topic: "in", MessageID: "b", Run: "R"}}, "holds no reservation"},
		"release by another run": {running,
			[]eventlog.Fact{&eventlog.EventReleased{Topic: "in", MessageID: "a", Run: "Q"}}, "cannot be released by run Q"},
		"release of a pending one": {running,
			[]eventlog.Fact{&eventlog.EventReleased{Topic: "in", MessageID: "b", Run: "R"}}, "cannot be released"},
		"consumed by another run": {running,
			[]eventlog.Fact{&eventlog.EventConsumed{Topic: "in", MessageID: "a", Run: "Q"}}, "cannot be consumed by run Q"},
		"consumed while pending": {running,
			[]eventlog.Fact{&eventlog.EventConsumed{Topic: "in", MessageID: "b", Run: "R"}}, "is pending"},
		"discarded while pending": {running,
			[]eventlog.Fact{&eventlog.EventDiscarded{Topic: "in", MessageID: "b", Run: "R"}}, "is pending"},
		"skipped after consumed": {func(p *past) *past {
			return running(p).then(&eventlog.EventConsumed{Topic: "in", MessageID: "a", Run: "R"})
		}, []eventlog.Fact{&eventlog.EventSkipped{Topic: "in", MessageID: "a"}}, "is consumed already"},
		"redrive from completed": {func(p *past) *past {
			return running(p).then(&eventlog.EventConsumed{Topic: "in", MessageID: "a", Run: "R"})
		}, []eventlog.Fact{&eventlog.EventRedriven{Topic: "in", MessageID: "a"}}, "cannot be redriven"},
		"redrive of a pending one": {running, []eventlog.Fact{&eventlog.EventRedriven{Topic: "in", MessageID: "b"}},
			"cannot be redriven"},
		"input registered twice": {running, []eventlog.Fact{&eventlog.InputRegistered{Input: "in-a"}},
			"registered already"},
		"unknown input retitled": {running, []eventlog.Fact{&eventlog.InputRetitled{Input: "I"}}, "input I is not known"},
		"mutation started twice": {applied, []eventlog.Fact{&eventlog.MutationStarted{Mutation: "R", Run: "R"}},
			"cannot start again"},
		"mutation requested twice": {applied, []eventlog.Fact{&eventlog.MutationApprovalRequested{Mutation: "R", Run: "R"}},
			"recorded already"},
		"final mutation fails": {applied, []eventlog.Fact{&eventlog.MutationFailed{Mutation: "R", Run: "R"}},
			"is applied already"},
		"final mutation applied": {applied, []eventlog.Fact{&eventlog.MutationApplied{Mutation: "R", Run: "R"}},
			"is applied already"},
		"final mutation skipped": {applied, []eventlog.Fact{&eventlog.MutationSkipped{Mutation: "R", Run: "R"}},
			"is applied already"},
		"final mutation asked about": {applied, []eventlog.Fact{&eventlog.MutationReconcileScheduled{Mutation: "R"}},
			"is applied already"},
		"final mutation left": {applied, []eventlog.Fact{&eventlog.MutationLeftIndeterminate{Mutation: "R"}},
			"is applied already"},
		"approval of a final one": {applied, []eventlog.Fact{&eventlog.MutationApproved{Mutation: "R"}},
			"awaits no approval"},
		"unknown mutation applied": {running, []eventlog.Fact{&eventlog.MutationApplied{Mutation: "M", Run: "R"}},
			"mutation M is not known"},
		"unknown mutation approved": {running, []eventlog.Fact{&eventlog.MutationApproved{Mutation: "M"}},
			"mutation M is not known"},
		"state of unknown handler": {none, []eventlog.Fact{&eventlog.HandlerStateSaved{Handler: "gone"}},
			"handler gone is not known"},
		"unknown fact": {none, []eventlog.Fact{strange{}}, "unknown fact type"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := c.given(deployed(t))
			before := dump(t, p.State)
			err := p.try(c.facts...)
			if !errors.Is(err, projections.ErrBroken) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want ErrBroken with %q", err, c.want)
			} else if !strings.Contains(err.Error(), ": w: revision ") {
				t.Errorf("%q does not name workflow and revision", err)
			}
			if diff := cmp.Diff(before, dump(t, p.State)); diff != "" {
				t.Errorf("a refused transition changed the state:\n%s", diff)
			}
		})
	}
}

type strange struct{}

func (strange) FactType() eventlog.FactType { return "strange.happened" }

// TestRecordsThatDoNotFollow: Apply keeps the chain.
func TestRecordsThatDoNotFollow(t *testing.T) {
	t.Parallel()
	log := foldtest.NewLog(2)
	h := foldtest.NewHistory(log, "w")
	for range 3 {
		if _, err := h.Step(); err != nil {
			t.Fatal(err)
		}
	}
	one, err := projections.Apply(new(projections.State), &log.Records[0])
	if err != nil {
		t.Fatal(err)
	}
	good := log.Records[1]
	if _, err := projections.Apply(one, &good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*eventlog.Record){
		"gap":              func(r *eventlog.Record) { *r = log.Records[2] },
		"repeat":           func(r *eventlog.Record) { *r = log.Records[0] },
		"broken hash":      func(r *eventlog.Record) { r.Prev[3] ^= 1 },
		"another workflow": func(r *eventlog.Record) { r.Workflow = "v" },
	} {
		r := good
		change(&r)
		if _, err := projections.Apply(one, &r); !errors.Is(err, projections.ErrBroken) {
			t.Errorf("%s: %v, want ErrBroken", name, err)
		}
	}
}

// TestPhasesMoveForwardOnly tries every step between phases (R1).
func TestPhasesMoveForwardOnly(t *testing.T) {
	t.Parallel()
	orders := map[eventlog.HandlerType][]eventlog.Phase{
		eventlog.ConsumerHandler: {eventlog.PhasePreparing, eventlog.PhasePrepared, eventlog.PhaseMutating,
			eventlog.PhaseMutated, eventlog.PhaseEmitting, eventlog.PhaseCommitted},
		eventlog.ProducerHandler: {eventlog.PhasePending, eventlog.PhaseExecuting, eventlog.PhaseCommitted},
	}
	for kind, order := range orders {
		for i, from := range order {
			for j, to := range order {
				p := deployed(t).then(&eventlog.SessionStarted{Session: "S"})
				p.then(&eventlog.RunStarted{Run: "R", Handler: "work", HandlerType: kind, Session: "S", Phase: from})
				err := p.try(&eventlog.RunAdvanced{Run: "R", Phase: to})
				if ok := err == nil; ok != (j > i) {
					t.Errorf("%s from %s to %s: %v", kind, from, to, err)
				}
			}
		}
	}
}

// TestUpdateKeepsStatusAndPlace is R11, for an event in each of its statuses.
func TestUpdateKeepsStatusAndPlace(t *testing.T) {
	t.Parallel()
	for status, reach := range map[eventlog.EventStatus]func(*past){
		eventlog.EventStatusPending:  func(*past) {},
		eventlog.EventStatusReserved: func(p *past) { p.reserving("R", "a") },
		eventlog.EventStatusConsumed: func(p *past) {
			p.reserving("R", "a").then(&eventlog.EventConsumed{Topic: "in", MessageID: "a", Run: "R"})
		},
		eventlog.EventStatusSkipped: func(p *past) { p.then(&eventlog.EventSkipped{Topic: "in", MessageID: "a"}) },
		eventlog.EventStatusDiscarded: func(p *past) {
			p.reserving("R", "a").then(failed("R"), &eventlog.EventDiscarded{Topic: "in", MessageID: "a", Run: "R"})
		},
	} {
		p := deployed(t).published("a", "b")
		reach(p)
		was := *p.event("a")
		if was.Status != status {
			t.Fatalf("status %s, want %s", was.Status, status)
		}
		p.then(&eventlog.InputRegistered{Input: "again"},
			&eventlog.EventRepublished{Topic: "in", MessageID: "a", Title: "new", Payload: []byte(`2`),
				CausedBy: []eventlog.InputID{"again"}})
		want := was
		want.Title, want.Payload, want.CausedBy = "new", []byte(`2`), []eventlog.InputID{"again"}
		if diff := cmp.Diff(&want, p.event("a")); diff != "" {
			t.Errorf("%s: an update changed more than title, payload and causes:\n%s", status, diff)
		}
		if status == eventlog.EventStatusPending {
			for first := range p.State.Pending("in") {
				if first.MessageID != "a" {
					t.Errorf("the updated event lost its place to %s", first.MessageID)
				}
				break
			}
		}
		// Its old input is done with it, the new one stands as the event does.
		old, again := p.State.Input("in-a"), p.State.Input("again")
		if old.Open+old.Consumed+old.Skipped+old.Discarded != 0 ||
			again.Open+again.Consumed+again.Skipped+again.Discarded != 1 {
			t.Errorf("%s: inputs count %+v and %+v", status, old, again)
		}
	}
}

// TestInputCounters follows one input through the lives of the events it caused.
func TestInputCounters(t *testing.T) {
	t.Parallel()
	p := deployed(t).published("a")
	in := []eventlog.InputID{"in-a"}
	p.then(&eventlog.EventPublished{Topic: "in", MessageID: "b", CausedBy: in},
		&eventlog.EventPublished{Topic: "in", MessageID: "c", CausedBy: in})
	check := func(moment string, open, consumed, skipped, discarded int, status string) {
		t.Helper()
		i := p.State.Input("in-a")
		if got, want := [4]int{i.Open, i.Consumed, i.Skipped, i.Discarded},
			[4]int{open, consumed, skipped, discarded}; got != want || string(i.Status()) != status {
			t.Errorf("%s: open, consumed, skipped, discarded %v (%s), want %v (%s)", moment, got, i.Status(), want, status)
		}
	}
	check("published", 3, 0, 0, 0, "pending")
	p.reserving("R", "a", "b")
	check("reserved", 3, 0, 0, 0, "pending")
	p.then(&eventlog.MutationStarted{Mutation: "R", Run: "R"})
	if got := p.State.Input("in-a").Outputs; len(got) != 1 || got[0] != "R" {
		t.Errorf("outputs %v, want the mutation once", got)
	}
	p.then(&eventlog.EventConsumed{Topic: "in", MessageID: "a", Run: "R"})
	check("one consumed", 2, 1, 0, 0, "pending")
	p.then(failed("R"), &eventlog.EventDiscarded{Topic: "in", MessageID: "b", Run: "R"})
	check("one discarded", 1, 1, 0, 1, "pending")
	p.then(&eventlog.EventSkipped{Topic: "in", MessageID: "c"})
	check("one skipped", 0, 1, 1, 1, "discarded")
	p.then(&eventlog.EventRedriven{Topic: "in", MessageID: "b"})
	check("redriven", 1, 1, 1, 0, "pending")
	p.then(&eventlog.EventSkipped{Topic: "in", MessageID: "b"})
	check("skipped too", 0, 1, 2, 0, "done")

	q := deployed(t).published("a").then(&eventlog.EventSkipped{Topic: "in", MessageID: "a"})
	if got := q.State.Input("in-a").Status(); got != "skipped" {
		t.Errorf("an input all of whose events were skipped is %s", got)
	}
}

// TestPauseKeepsItsActor is O10: the state names the actor of a pause and its time for as long as it lasts.
func TestPauseKeepsItsActor(t *testing.T) {
	t.Parallel()
	p := deployed(t)
	r, err := p.Append(func() { p.Add(&eventlog.WorkflowPaused{}) })
	if err != nil {
		t.Fatal(err)
	}
	want := &projections.Pause{By: r.Actor, Since: r.At}
	if got := p.State.Pause; got == nil || *got != *want || got.By.Name == "" || got.Since == 0 {
		t.Errorf("paused: %+v, want %+v", got, want)
	}
	p.then(&eventlog.WorkflowBlocked{Reason: eventlog.BlockInternal, Message: "held"}, &eventlog.WorkflowUnblocked{})
	if got := p.State.Pause; got == nil || *got != *want {
		t.Errorf("a hold of the system changed the pause: %+v", got)
	}
	p.then(&eventlog.WorkflowResumed{})
	if p.State.Pause != nil {
		t.Errorf("resumed, and still paused: %+v", p.State.Pause)
	}
}

// TestWorkflowStatus is F7.
func TestWorkflowStatus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		w    projections.Workflow
		want projections.Status
	}{
		{projections.Workflow{}, projections.StatusActive},
		{projections.Workflow{Pause: &projections.Pause{}}, projections.StatusPaused},
		{projections.Workflow{Blocked: &projections.Block{Reason: eventlog.BlockReconcile}}, projections.StatusPaused},
		{projections.Workflow{Blocked: &projections.Block{Reason: eventlog.BlockIndeterminate}}, projections.StatusPaused},
		{projections.Workflow{Blocked: &projections.Block{Reason: eventlog.BlockApproval}}, projections.StatusError},
		{projections.Workflow{Blocked: &projections.Block{Reason: eventlog.BlockInternal}}, projections.StatusError},
		{projections.Workflow{Pause: &projections.Pause{}, Blocked: &projections.Block{Reason: eventlog.BlockInternal}},
			projections.StatusPaused},
		{projections.Workflow{Backoff: &projections.Backoff{}, Maintenance: &projections.Maintenance{}},
			projections.StatusActive},
		{projections.Workflow{Archived: true, Pause: &projections.Pause{}}, projections.StatusArchived},
	} {
		if got := c.w.Status(); got != c.want {
			t.Errorf("%+v: %s, want %s", c.w, got, c.want)
		}
	}
}
