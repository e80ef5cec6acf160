package deploy_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/sandbox"
)

// deployed is the workflow of these tests after its first deploy.
func deployed(t *testing.T) *deploy.Previous {
	t.Helper()
	accepted, problems := checked(deploy.Input{Definition: workflow(), Catalog: catalog(t)})
	if len(problems) != 0 {
		t.Fatal(problems)
	}
	return &deploy.Previous{Name: accepted.Name, Version: "1.0", Definition: accepted.Definition}
}

// holding is the state of a workflow whose run RUN1 has reserved two events.
func holding(t *testing.T, previous *deploy.Previous, more ...eventlog.Fact) *projections.State {
	t.Helper()
	draft := projections.NewDraft(new(projections.State), eventlog.Transition{Workflow: "invoices", At: 1,
		Actor: eventlog.System}, 1)
	facts := []eventlog.Fact{
		&eventlog.WorkflowDeployed{Version: "1.0", Definition: previous.Definition},
		&eventlog.HandlerStateSaved{Handler: "poll", State: json.RawMessage(`null`)},
		&eventlog.EventPublished{Topic: "email.received", MessageID: "a", Title: "a"},
		&eventlog.EventPublished{Topic: "email.received", MessageID: "b", Title: "b"},
		&eventlog.EventPublished{Topic: "email.received", MessageID: "c", Title: "c"},
		&eventlog.EventPublished{Topic: "row.created", MessageID: "a", Title: "a"},
		&eventlog.SessionStarted{Session: "S"},
		&eventlog.RunStarted{Run: "RUN1", Handler: "record", HandlerType: eventlog.ConsumerHandler, Version: "1.0",
			Session: "S", Phase: eventlog.PhasePreparing},
		&eventlog.RunPrepared{Run: "RUN1", Result: json.RawMessage(`{}`)},
		&eventlog.EventReserved{Topic: "email.received", MessageID: "a", Run: "RUN1"},
		&eventlog.EventReserved{Topic: "email.received", MessageID: "c", Run: "RUN1"},
	}
	for _, fact := range append(facts, more...) {
		if err := draft.Add(fact); err != nil {
			t.Fatal(err)
		}
	}
	return draft.State()
}

func TestO9_HeldReservations(t *testing.T) {
	tests := []struct {
		name    string
		change  func(*sandbox.Definition)
		refused string // part of the message; empty: accepted
	}{
		{"nothing of it changes", func(d *sandbox.Definition) { d.Producers = d.Producers[:1] }, ""},
		{"another subscription is added", func(d *sandbox.Definition) {
			d.Topics = append(d.Topics, "more")
			d.Consumers[0].Subscribe = append(d.Consumers[0].Subscribe, "more")
		}, ""},
		{"another consumer goes", func(d *sandbox.Definition) { d.Consumers = d.Consumers[:1]; d.Uses = d.Uses[:2] }, ""},
		{"the consumer goes", func(d *sandbox.Definition) { d.Consumers = d.Consumers[1:]; d.Uses = d.Uses[1:] },
			"run RUN1 of consumer record is not over and holds 2 reserved events"},
		{"the consumer is renamed", func(d *sandbox.Definition) {
			d.Consumers[0].Name = "write"
			d.Uses[0].Handler = "write"
		},
			"may not drop the consumer"},
		{"the subscription goes", func(d *sandbox.Definition) {
			d.Topics = append(d.Topics, "other")
			d.Consumers[0].Subscribe = []string{"other"}
		}, "may not drop the subscription"},
		{"the consumer becomes a producer", func(d *sandbox.Definition) {
			d.Consumers = d.Consumers[1:]
			d.Uses = d.Uses[1:]
			d.Producers = append(d.Producers, sandbox.ProducerDefinition{Name: "record", Bare: true})
		}, "may not drop the consumer"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			previous, d := deployed(t), workflow()
			previous.State = holding(t, previous)
			tt.change(&d)
			var want []expectation
			if tt.refused != "" {
				want = []expectation{{sandbox.SeverityWarning, deploy.CodeHeld, 0, tt.refused, "invoices]"}}
			}
			expect(t, deploy.Input{Definition: d, Catalog: catalog(t), Previous: previous}, want...)
		})
	}
}

// A number of concurrency that is refused is no concurrency that is taken away.
func TestO9_RefusedConcurrencyDropsNothing(t *testing.T) {
	previous, d := deployed(t), workflow()
	before := &previous.Definition.Consumers[0]
	before.Concurrency, before.HasMutate, before.HasNext = 8, true, true
	previous.State = holding(t, previous, &eventlog.EventHeld{Topic: "email.received", MessageID: "b", Run: "RUN1",
		Reason: eventlog.HeldRepair})
	many := 300
	d.Consumers[0].Concurrency = &many
	_, found := deploy.Check(deploy.Input{Definition: d, Catalog: catalog(t), Previous: previous})
	for _, p := range found {
		if p.Code == deploy.CodeHeld {
			t.Errorf("%s", p.Message)
		}
	}
	d.Consumers[0].Concurrency = nil
	_, found = deploy.Check(deploy.Input{Definition: d, Catalog: catalog(t), Previous: previous})
	if !slices.ContainsFunc(found, func(p deploy.Problem) bool { return p.Code == deploy.CodeHeld }) {
		t.Errorf("concurrency is taken away without a warning: %+v", found)
	}
}

func TestO9_OneHeldReservation(t *testing.T) {
	previous, d := deployed(t), workflow()
	previous.State = holding(t, previous, &eventlog.EventReleased{Topic: "email.received", MessageID: "c", Run: "RUN1"})
	d.Consumers, d.Uses = d.Consumers[1:], d.Uses[1:]
	expect(t, deploy.Input{Definition: d, Catalog: catalog(t), Previous: previous},
		expectation{sandbox.SeverityWarning, deploy.CodeHeld, 0, "is not over and holds 1 reserved event, so this",
			"invoices]"})
}

func TestO9_ArchivedNameIsAWarning(t *testing.T) {
	previous := deployed(t)
	previous.State = holding(t, previous, &eventlog.WorkflowArchived{})
	expect(t, deploy.Input{Definition: workflow(), Catalog: catalog(t), Previous: previous},
		expectation{sandbox.SeverityWarning, deploy.CodeArchived, 0, "invoices is archived", `"invoices-2"`})
}

func TestO9_WhatIsLeftBehindIsAWarning(t *testing.T) {
	previous, d := deployed(t), workflow()
	previous.Pending = map[eventlog.Topic]int{"row.created": 1, "email.received": 3, "elsewhere": 0}
	previous.Stateful = []eventlog.Handler{"poll", "notify", "long_gone"}
	d.Topics = d.Topics[:1]
	d.Consumers = d.Consumers[:1]
	d.Consumers[0].Publishes = nil
	d.Uses = d.Uses[:2]
	expect(t, deploy.Input{Definition: d, Catalog: catalog(t), Previous: previous},
		expectation{sandbox.SeverityWarning, deploy.CodeDrops, 0,
			`topic "row.created" is gone while 1 event of it is pending; it stays and nothing processes it`, "keep"},
		expectation{sandbox.SeverityWarning, deploy.CodeDrops, 0, `handler "notify" is gone`, "name"})

	d = workflow()
	d.Consumers = d.Consumers[:1]
	d.Uses = d.Uses[:2]
	previous.Stateful = nil
	previous.Pending["row.created"] = 2
	expect(t, deploy.Input{Definition: d, Catalog: catalog(t), Previous: previous},
		expectation{sandbox.SeverityWarning, deploy.CodeDrops, 0,
			`topic "row.created" loses its consumer while 2 events of it are pending; they stay and nothing processes them`,
			"subscribe"})
}

func TestF9_Repair(t *testing.T) {
	tests := []struct {
		name   string
		change func(*sandbox.Definition)
		want   []string // messages; none: accepted
	}{
		{"handlers change inside", func(d *sandbox.Definition) {
			d.Consumers[1].HasNext = true
			d.Uses = d.Uses[:3]
		}, nil},
		{"order of topics", func(d *sandbox.Definition) { d.Topics[0], d.Topics[1] = d.Topics[1], d.Topics[0] }, nil},
		{"name", func(d *sandbox.Definition) { d.Name = "bills" }, []string{`may not rename it to "bills"`}},
		{"topic added", func(d *sandbox.Definition) {
			d.Topics = append(d.Topics, "more")
		}, []string{`may not add topic "more"`}},
		{"topic removed", func(d *sandbox.Definition) {
			d.Topics = d.Topics[:1]
			d.Consumers = d.Consumers[:1]
			d.Consumers[0].Publishes = nil
			d.Uses = d.Uses[:2]
		}, []string{`may not remove topic "row.created"`, `may not take topic "row.created" from consumer "notify"`,
			`may not change publishes of consumer "record" from ["row.created"] to none`}},
		{"subscription moved", func(d *sandbox.Definition) { d.Consumers[0].Name = "write"; d.Uses[0].Handler = "write" },
			[]string{`may not take topic "email.received" from consumer "record"`}},
		{"new capability", func(d *sandbox.Definition) {
			d.Uses = append(d.Uses, sandbox.OperationUse{Connector: "files", Operation: "read", Line: 50})
		}, []string{"files.read is not used by version 1.0"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := workflow()
			tt.change(&d)
			var want []expectation
			for _, message := range tt.want {
				line := 0
				if tt.name == "new capability" {
					line = 50
				}
				want = append(want, expectation{sandbox.SeverityError, deploy.CodeRepair, line, message, ""})
			}
			expect(t, deploy.Input{Definition: d, Catalog: catalog(t), Previous: deployed(t), Repair: true}, want...)
		})
	}
}

// F9: a repair keeps which handlers there are, when they run, where they publish and how often they try. Each refusal
// says from what to what, and what to write instead; a deploy may change all of it.
func TestF9_RepairKeepsSettings(t *testing.T) {
	t.Parallel()
	poll := func(d *sandbox.Definition) *sandbox.ProducerDefinition { return &d.Producers[0] }
	record := func(d *sandbox.Definition) *sandbox.ConsumerDefinition { return &d.Consumers[0] }
	for name, tt := range map[string]struct {
		change func(*sandbox.Definition)
		want   [][2]string // message and fix of each refusal
	}{
		"interval": {func(d *sandbox.Definition) { poll(d).Interval = "10s" }, [][2]string{
			{`may not change interval of producer "poll" from "5m" to "10s"`, `write interval: "5m", or deploy`}}},
		"the same interval": {func(d *sandbox.Definition) { poll(d).Interval = "300s" }, nil},
		"interval instead of cron": {func(d *sandbox.Definition) {
			d.Producers[1] = sandbox.ProducerDefinition{Name: "nightly", Interval: "1h30m", RunOnDeploy: true}
		}, [][2]string{
			{`may not change interval of producer "nightly" from none to "1h30m"`, "leave interval out"},
			{`may not change cron of producer "nightly" from "0 2 * * *" to none`, `write cron: "0 2 * * *"`},
			{`may not change timezone of producer "nightly" from "Europe/Berlin" to none`, `write timezone: "Europe/Berlin"`},
		}},
		"timezone": {func(d *sandbox.Definition) { d.Producers[1].Timezone = "UTC" }, [][2]string{
			{`may not change timezone of producer "nightly" from "Europe/Berlin" to "UTC"`, ""}}},
		"runs at each deploy": {func(d *sandbox.Definition) { poll(d).RunOnDeploy = true }, [][2]string{
			{`may not change runOnDeploy of producer "poll" from none to true`, "leave runOnDeploy out"}}},
		"a bare producer written out": {func(d *sandbox.Definition) {
			d.Producers[2] = sandbox.ProducerDefinition{Name: "bare", Interval: "5m", RunOnDeploy: true}
		}, nil},
		"producer added": {func(d *sandbox.Definition) {
			d.Producers = append(d.Producers, sandbox.ProducerDefinition{Name: "more", Bare: true})
		}, [][2]string{{`may not add producer "more"`, "leave it out, or deploy"}}},
		"producer removed": {func(d *sandbox.Definition) { d.Producers = d.Producers[:2] },
			[][2]string{{`may not remove producer "bare"`, "keep it as it was"}}},
		"publishes of a producer": {func(d *sandbox.Definition) { poll(d).Publishes = nil }, [][2]string{
			{`may not change publishes of producer "poll" from ["email.received"] to none`,
				`write publishes: ["email.received"]`}}},
		"publishes of a consumer": {func(d *sandbox.Definition) {
			record(d).Publishes = []string{"row.created", "email.received"}
		}, [][2]string{{`of consumer "record" from ["row.created"] to ["email.received","row.created"]`,
			`write publishes: ["row.created"]`}}},
		"nothing may be published": {func(d *sandbox.Definition) { d.Consumers[1].Publishes = []string{} }, [][2]string{
			{`may not change publishes of consumer "notify" from none to []`, "leave publishes out"}}},
		"fewer attempts": {func(d *sandbox.Definition) { record(d).MaxAttempts = number(1) }, [][2]string{
			{`may not change maxAttempts of consumer "record" from 3 to 1`, "write maxAttempts: 3"}}},
		"attempts added": {func(d *sandbox.Definition) { d.Consumers[1].MaxAttempts = number(0) }, [][2]string{
			{`may not change maxAttempts of consumer "notify" from none to 0`, "leave maxAttempts out"}}},
		"reads in mutate": {func(d *sandbox.Definition) { record(d).MutateReadsByID = true }, [][2]string{
			{`may not change mutateReads of consumer "record" from none to "byId"`, "leave mutateReads out"}}},
		"approval": {func(d *sandbox.Definition) { record(d).Approval = sandbox.ApprovalScript }, [][2]string{
			{`may not change approval of consumer "record" from none to (prepared) => …`, "leave approval out"}}},
		"a dead letter": {func(d *sandbox.Definition) { record(d).DeadLetter = "row.created" }, [][2]string{
			{`may not change deadLetter of consumer "record" from none to "row.created"`, "leave deadLetter out"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := workflow()
			tt.change(&d)
			expect(t, deploy.Input{Definition: d, Catalog: catalog(t), Previous: deployed(t)})
			var want []expectation
			for _, w := range tt.want {
				want = append(want, expectation{sandbox.SeverityError, deploy.CodeRepair, 0, w[0], w[1]})
			}
			expect(t, deploy.Input{Definition: d, Catalog: catalog(t), Previous: deployed(t), Repair: true}, want...)
		})
	}
}

// F9: a member that could not be read is no change: what is wrong with it is said already.
func TestF9_UnreadMemberIsNoChange(t *testing.T) {
	t.Parallel()
	d := workflow()
	d.Producers[0].Interval = "1m"
	d.Incomplete, d.Unread = true, []string{sandbox.PlaceKey([]string{"producers", "poll", "interval"})}
	found := sandbox.NewProblem(deploy.CodeSchedule, sandbox.Place{Line: 9}, "interval must be a text", "x")
	expect(t, deploy.Input{Definition: d, Found: []sandbox.Problem{found}, Catalog: catalog(t), Previous: deployed(t),
		Repair: true}, expectation{sandbox.SeverityError, deploy.CodeSchedule, 9, "must be a text", ""})
}

func TestF9_RepairMayNotSubscribeToAFreeTopic(t *testing.T) {
	first, repaired := workflow(), workflow()
	first.Topics = append(first.Topics, "free")
	repaired.Topics = append(repaired.Topics, "free")
	repaired.Consumers[1].Subscribe = append(repaired.Consumers[1].Subscribe, "free")
	accepted, _ := checked(deploy.Input{Definition: first, Catalog: catalog(t)})
	expect(t, deploy.Input{Definition: repaired, Catalog: catalog(t), Repair: true,
		Previous: &deploy.Previous{Name: accepted.Name, Version: "1.0", Definition: accepted.Definition}},
		expectation{sandbox.SeverityError, deploy.CodeRepair, 0, `may not subscribe consumer "notify" to topic "free"`, ""})
}

func TestF9_RepairOfNothing(t *testing.T) {
	expect(t, deploy.Input{Definition: workflow(), Catalog: catalog(t), Repair: true},
		expectation{sandbox.SeverityError, deploy.CodeRepair, 0, "no version", "deploy"})
}

// A repair runs with what the last deploy accepted, whatever the tools say meanwhile.
func TestF9_RepairKeepsPins(t *testing.T) {
	previous := deployed(t)
	for i := range previous.Definition.Operations {
		previous.Definition.Operations[i].TimeoutMS = 1234
	}
	accepted, problems := checked(deploy.Input{Definition: workflow(), Previous: previous, Repair: true})
	if len(problems) != 0 {
		t.Fatalf("a repair while every tool is away: %+v", problems)
	}
	if !reflect.DeepEqual(accepted.Definition.Operations, previous.Definition.Operations) {
		t.Errorf("got %+v, want %+v", accepted.Definition.Operations, previous.Definition.Operations)
	}
}

func TestPreviousOf(t *testing.T) {
	if p := deploy.PreviousOf(&projections.State{}); p != nil {
		t.Fatalf("a workflow that does not exist: %+v", p)
	}
	before := deployed(t)
	state := holding(t, before)
	want := &deploy.Previous{
		Name: "invoices", Version: "1.0", Definition: before.Definition, State: state,
		Pending:  map[eventlog.Topic]int{"email.received": 1, "row.created": 1},
		Stateful: []eventlog.Handler{"poll"},
	}
	if got := deploy.PreviousOf(state); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}
