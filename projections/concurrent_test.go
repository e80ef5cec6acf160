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

// concurrent is a deployed workflow with a concurrent consumer.
func concurrent(t *testing.T, key string) *past {
	t.Helper()
	p := &past{t, foldtest.NewConcurrentHistory(foldtest.NewLog(1), "w")}
	return p.then(version("1.0", key))
}

func version(v eventlog.Version, key string) *eventlog.WorkflowDeployed {
	return &eventlog.WorkflowDeployed{Version: v, Definition: eventlog.Definition{
		Topics: []eventlog.Topic{"in"},
		Consumers: []eventlog.Consumer{{Name: foldtest.Each, Subscribe: []eventlog.Topic{"in"}, Concurrency: 2, Key: key,
			HasMutate: true}},
	}}
}

// beginning starts a run for the event.
func (p *past) beginning(run eventlog.RunID, id eventlog.MessageID) *past {
	p.t.Helper()
	event := ref(id)
	return p.then(&eventlog.RunStarted{Run: run, Handler: foldtest.Each, HandlerType: eventlog.ConsumerHandler,
		Version: p.State.Version, Phase: eventlog.PhasePreparing, Engine: "e", Event: &event},
		&eventlog.EventReserved{Topic: "in", MessageID: id, Run: run})
}

// failing ends the run before its mutation, and hides its event until the time.
func (p *past) failing(run eventlog.RunID, id eventlog.MessageID, class eventlog.Class, until eventlog.Instant) *past {
	p.t.Helper()
	return p.then(
		&eventlog.RunFailed{Run: run, Status: eventlog.RunStatusPausedTransient, Failure: eventlog.Failure{Class: class}},
		&eventlog.EventRetryScheduled{Topic: "in", MessageID: id, Run: run, At: until})
}

const later eventlog.Instant = 1 << 60

// C6, C7: a deploy ends what an empty prepare has put off, and the end of probing what a transient failure has; neither
// ends anything else.
func TestC6_C7_WhatEndsAHiding(t *testing.T) {
	t.Parallel()
	hidden := func() *past {
		p := concurrent(t, "").published("deferred", "transient", "logic")
		p.beginning("R1", "deferred").then(
			&eventlog.EventDeferred{Topic: "in", MessageID: "deferred", Run: "R1", Until: later},
			&eventlog.RunCommitted{Run: "R1"})
		return p.beginning("R2", "transient").failing("R2", "transient", eventlog.Transient, later).
			beginning("R3", "logic").failing("R3", "logic", eventlog.Logic, later)
	}
	for name, c := range map[string]struct {
		by   eventlog.Fact
		ends eventlog.MessageID
	}{
		"deploy":  {version("2.0", "k"), "deferred"},
		"probing": {&eventlog.HandlerProbingEnded{Handler: foldtest.Each}, "transient"},
	} {
		p := hidden().then(c.by)
		for _, id := range []eventlog.MessageID{"deferred", "transient", "logic"} {
			want := later
			if id == c.ends {
				want = 0
			}
			if got := p.event(id).ScheduledAt; got != want {
				t.Errorf("%s: event %s is hidden until %d, want %d", name, id, got, want)
			}
		}
	}
}

// C6, C8: what was no execution leaves no attempt behind, and its event untried.
func TestC6_C8_NoExecution(t *testing.T) {
	t.Parallel()
	p := concurrent(t, "").published("a").beginning("R1", "a").then(&eventlog.RunCrashed{Run: "R1"},
		&eventlog.EventReleased{Topic: "in", MessageID: "a", Run: "R1", Uncounted: true})
	if p.event("a").FailedAt != 0 {
		t.Error("the event counts as tried")
	}
	p.beginning("R2", "a").failing("R2", "a", eventlog.Transient, 0)
	p.beginning("R3", "a").then(&eventlog.EventDeferred{Topic: "in", MessageID: "a", Run: "R3", Until: later},
		&eventlog.RunCommitted{Run: "R3"})
	if e := p.event("a"); e.Executions != 1 || len(e.Attempts) != 1 || e.Attempts[0].Run != "R2" || e.Failures != 1 {
		t.Errorf("%d executions, %d failures, attempts %+v", e.Executions, e.Failures, e.Attempts)
	}
}

// C5: what is held and what needs attention is counted, until it is over.
func TestC5_HeldEventsAreCounted(t *testing.T) {
	t.Parallel()
	p := concurrent(t, "").published("a", "b", "c")
	hold := func(id eventlog.MessageID, reason eventlog.HeldReason) *eventlog.EventHeld {
		return &eventlog.EventHeld{Topic: "in", MessageID: id, Run: "R", Reason: reason}
	}
	p.then(hold("a", eventlog.HeldPerson)).then(hold("b", eventlog.HeldRepair)).then(hold("c", eventlog.HeldRepair))
	check := func(moment string, all, repair, attention int) {
		t.Helper()
		c, _ := p.State.Definition().Consumer(foldtest.Each)
		w := &p.State.Workflow
		if w.HeldFor(c) != all || w.HeldFor(c, eventlog.HeldRepair) != repair || (w.Counts.HeldSince != 0) != (all > 0) {
			t.Errorf("%s: %+v since %s", moment, w.Counts.Held, w.Counts.HeldSince)
		}
		if w.Counts.Attention != attention || (w.Counts.AttentionSince != 0) != (attention > 0) {
			t.Errorf("%s: %d need attention since %s", moment, w.Counts.Attention, w.Counts.AttentionSince)
		}
	}
	check("held", 3, 2, 0)
	p.then(hold("b", eventlog.HeldPerson))
	check("for another reason", 3, 1, 0)
	p.then(&eventlog.EventFreed{Topic: "in", MessageID: "a"})
	check("freed", 2, 1, 0)
	p.then(&eventlog.EventSkipped{Topic: "in", MessageID: "b"})
	check("skipped", 1, 1, 0)
	p.then(&eventlog.EventRedriven{Topic: "in", MessageID: "c"})
	check("redriven", 0, 0, 0)
	p.beginning("R1", "a").then(failed("R1"), &eventlog.EventRetryScheduled{Topic: "in", MessageID: "a", Run: "R1",
		Attention: true})
	check("failing", 0, 0, 1)
	p.beginning("R2", "a").then(&eventlog.EventConsumed{Topic: "in", MessageID: "a", Run: "R2"})
	check("consumed", 0, 0, 0)
}

// What cannot follow in the past of a concurrent consumer is refused.
func TestBrokenConcurrentLogs(t *testing.T) {
	t.Parallel()
	event := ref("a")
	start := func(change func(*eventlog.RunStarted)) *eventlog.RunStarted {
		r := &eventlog.RunStarted{Run: "R2", Handler: foldtest.Each, HandlerType: eventlog.ConsumerHandler, Version: "1.0",
			Phase: eventlog.PhasePreparing, Event: &event}
		change(r)
		return r
	}
	for name, c := range map[string]struct {
		fact eventlog.Fact
		want string
	}{
		"same run twice": {start(func(r *eventlog.RunStarted) { r.Run = "R1" }), "has started already"},
		"in a session":   {start(func(r *eventlog.RunStarted) { r.Session = "S" }), "cannot be that of one event"},
		"of a producer": {start(func(r *eventlog.RunStarted) { r.HandlerType = eventlog.ProducerHandler }),
			"cannot be that"},
		"in a wrong phase": {start(func(r *eventlog.RunStarted) { r.Phase = eventlog.PhaseExecuting }),
			"cannot start in phase"},
		"retry not owed":    {start(func(r *eventlog.RunStarted) { r.RetryOf = "R1" }), "owes no retry"},
		"retry of nothing":  {start(func(r *eventlog.RunStarted) { r.RetryOf = "R0" }), "owes no retry"},
		"owed while active": {&eventlog.RunRetryOwed{Run: "R1"}, "has not ended"},
		"clear what is not": {&eventlog.RunRetryCleared{Run: "R1"}, "owes no retry"},
		"a second run":      {&eventlog.EventReserved{Topic: "in", MessageID: "a", Run: "R1"}, "cannot be reserved"},
		"take a held one":   {&eventlog.EventReserved{Topic: "in", MessageID: "held", Run: "R1"}, "is held for person"},
		"held for a whim":   {&eventlog.EventHeld{Topic: "in", MessageID: "held", Reason: "whim"}, `be held for "whim"`},
		"held by another": {&eventlog.EventHeld{Topic: "in", MessageID: "a", Run: "R2", Reason: "person"},
			"cannot be held by run R2"},
		"nothing to free": {&eventlog.EventFreed{Topic: "in", MessageID: "a"}, "nothing holds it"},
		"deferred by R2": {&eventlog.EventDeferred{Topic: "in", MessageID: "a", Run: "R2"},
			"cannot be released by run R2"},
		"unknown consumer": {&eventlog.HandlerProbeScheduled{Handler: "gone"}, "handler gone is not known"},
	} {
		p := concurrent(t, "").published("a", "held")
		p.beginning("R1", "a").then(&eventlog.EventHeld{Topic: "in", MessageID: "held", Reason: eventlog.HeldPerson})
		refuses(t, p, name, c.fact, c.want)
	}
}

// refuses expects that the fact cannot follow, and leaves no trace.
func refuses(t *testing.T, p *past, name string, fact eventlog.Fact, want string) {
	t.Helper()
	before := dump(t, p.State)
	if err := p.try(fact); !errors.Is(err, projections.ErrBroken) || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: got %v, want ErrBroken with %q", name, err, want)
	}
	if diff := cmp.Diff(before, dump(t, p.State)); diff != "" {
		t.Errorf("%s: a refused transition changed the state:\n%s", name, diff)
	}
}
