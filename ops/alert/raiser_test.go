package alert

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/projections"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const since = eventlog.Instant(1_700_000_000_000_000)

// Each condition is found where it holds, and nowhere else.
func TestFindings(t *testing.T) {
	t.Parallel()
	holds := func(reason decide.Reason) explain.Why {
		return explain.Why{Reason: &reason, Since: since, NeedsPerson: true}
	}
	rests := decide.ReasonIdle
	for name, c := range map[string]struct {
		why      explain.Why
		workflow *projections.Workflow
		want     map[Condition]string
	}{
		"idle":     {explain.Why{Reason: &rests}, &projections.Workflow{}, nil},
		"moving":   {explain.Why{Moving: true}, &projections.Workflow{}, nil},
		"approval": {holds(decide.ReasonApproval), &projections.Workflow{}, map[Condition]string{Person: "approval"}},
		"a hold behind a pause": {holds(decide.ReasonUserPause), &projections.Workflow{},
			map[Condition]string{Person: "userPause"}},
		"a pause": {explain.Why{Reason: new(decide.ReasonUserPause)}, &projections.Workflow{}, nil},
		"archived": {holds(decide.ReasonApproval), &projections.Workflow{Archived: true,
			Counts: projections.Counts{Discarded: 2}}, nil},
		"out of service": {holds(decide.ReasonNoWorker), nil, map[Condition]string{Person: "noWorker"}},
		"held events": {holds(decide.ReasonHeld), &projections.Workflow{Counts: projections.Counts{HeldSince: since,
			Held: []projections.HeldCount{{Reason: eventlog.HeldApproval, Events: 3}}}}, map[Condition]string{Person: "held"}},
		"events held while others move": {explain.Why{Moving: true}, &projections.Workflow{Counts: projections.Counts{
			HeldSince: since, Held: []projections.HeldCount{{Reason: eventlog.HeldPerson, Events: 1}}}},
			map[Condition]string{Person: "held"}},
		"the outcome of a call is asked for": {explain.Why{Moving: true}, &projections.Workflow{Counts: projections.Counts{
			Held: []projections.HeldCount{{Reason: eventlog.HeldReconcile, Events: 1}}}}, nil},
		"discarded, and failing": {explain.Why{Reason: new(decide.ReasonBackoff), NeedsPerson: true},
			&projections.Workflow{Backoff: &projections.Backoff{Attention: since}, Counts: projections.Counts{Discarded: 1}},
			map[Condition]string{Discarded: "discarded", Attention: "transient"}},
		"events fail": {explain.Why{Moving: true}, &projections.Workflow{Counts: projections.Counts{Attention: 1}},
			map[Condition]string{Attention: "failing"}},
	} {
		var state *projections.State
		if c.workflow != nil {
			state = new(projections.State).Hydrate(c.workflow)
		}
		got := findings(c.why, state)
		if len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		for condition, reason := range c.want {
			if got[condition].reason != reason {
				t.Errorf("%s: %s is %q, want %q", name, condition, got[condition].reason, reason)
			}
		}
	}
}

// place is an engine whose workflows a test describes.
type place struct {
	t    *testing.T
	js   jetstream.JetStream
	cfg  Config
	now  time.Time
	whys map[eventlog.WorkflowName]explain.Why
}

func newPlace(t *testing.T, wanted ...Wanted) *place {
	t.Helper()
	nc := natstest.Connect(t, natstest.NewServer(t, natstest.Fast))
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, js: js, now: time.Now(), whys: map[eventlog.WorkflowName]explain.Why{}}
	p.cfg = Config{Conn: nc, Prefix: "pawl", Installation: "TEST", Wanted: wanted, PublicURL: "https://pawl.example.com/",
		Workflows: func() (names []eventlog.WorkflowName) {
			for name := range p.whys {
				names = append(names, name)
			}
			return names
		},
		Why: func(name eventlog.WorkflowName) (explain.Why, error) { return p.whys[name], nil },
		State: func(name eventlog.WorkflowName) (projections.State, bool) {
			return *new(projections.State).Hydrate(&projections.Workflow{Name: name}), true
		},
		NameDiscarded: func(context.Context, *explain.Why) error { return nil },
		Now:           func() time.Time { return p.now }, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
	return p
}

func (p *place) raiser() *Raiser {
	p.t.Helper()
	r, err := New(p.cfg)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

func (p *place) look(r *Raiser) {
	p.t.Helper()
	if err := r.Look(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
}

// told are the alerts of the stream, each as its state and workflow, and the last of them.
func (p *place) told() (all []string, last Alert) {
	p.t.Helper()
	stream, err := p.js.Stream(p.t.Context(), "PAWL_ALERTS")
	if err != nil {
		p.t.Fatal(err)
	}
	for seq := uint64(1); seq <= stream.CachedInfo().State.LastSeq; seq++ {
		m, err := stream.GetMsg(p.t.Context(), seq)
		if err != nil {
			p.t.Fatal(err)
		}
		if err := json.Unmarshal(m.Data, &last); err != nil {
			p.t.Fatal(err)
		}
		if want := fmt.Sprintf("pawl.alert.%s.%s", last.Workflow, last.Condition); m.Subject != want ||
			m.Header.Get("ce-type") != "pawl.alert."+string(last.State)+".v1" {
			p.t.Errorf("message %d: %s %v", seq, m.Subject, m.Header)
		}
		all = append(all, string(last.State)+" "+string(last.Workflow))
	}
	return all, last
}

// An alert is raised once, also over restarts, says what why says, and is resolved; what no receiver wants is not
// raised.
func TestRaisedOnceAndResolved(t *testing.T) {
	t.Parallel()
	p := newPlace(t, Wanted{Conditions: []Condition{Person}, Workflows: []string{"orders"}},
		Wanted{Conditions: []Condition{Discarded}})
	needs := explain.Why{Workflow: "orders", Reason: new(decide.ReasonApproval), Since: since, NeedsPerson: true,
		Message: "The call waits.", Commands: []string{"pawl approve 01M"}}
	p.whys["orders"], p.whys["other"] = needs, needs
	for range 3 {
		r := p.raiser()
		p.look(r)
		p.look(r)
	}
	all, last := p.told()
	if !slices.Equal(all, []string{"raised orders"}) {
		t.Fatalf("told %v", all)
	}
	want := "Workflow orders needs a person (approval).\nThe call waits.\n    pawl approve 01M\n" +
		"https://pawl.example.com/v1/workflows/orders/why"
	if last.Text != want || last.Message != needs.Message || !slices.Equal(last.Commands, needs.Commands) ||
		last.Reason != "approval" || last.Since != since || last.Condition != Person {
		t.Errorf("%+v", last)
	}
	p.whys["orders"] = explain.Why{Moving: true}
	r := p.raiser()
	p.look(r)
	p.now = p.now.Add(2 * time.Minute)
	p.look(r)
	if all, last = p.told(); !slices.Equal(all, []string{"raised orders", "resolved orders"}) ||
		!strings.HasPrefix(last.Text, "Resolved: workflow orders needs a person no more") {
		t.Errorf("told %v, the last %+v", all, last)
	}
	// Another raiser that knows less tells nothing in vain.
	old := p.raiser()
	p.look(old)
	p.whys["orders"] = needs
	p.now = p.now.Add(time.Hour)
	p.look(r)
	if err := old.Look(t.Context()); err == nil {
		t.Error("the same was told twice")
	}
	p.look(old)
	if all, _ = p.told(); len(all) != 3 {
		t.Errorf("told %v", all)
	}
}

// A transition is followed by a look at its workflow.
func TestObservedWorkflowIsLookedAt(t *testing.T) {
	t.Parallel()
	p := newPlace(t, Wanted{Conditions: Conditions()})
	looked := make(chan eventlog.WorkflowName, 10)
	p.cfg.Why = func(name eventlog.WorkflowName) (explain.Why, error) {
		looked <- name
		return explain.Why{}, nil
	}
	r := p.raiser()
	ended := make(chan struct{})
	go func() { defer close(ended); r.Run(t.Context()) }()
	t.Cleanup(func() { <-ended })
	r.Observe(eventlog.Record{Transition: eventlog.Transition{Workflow: eventlog.Installation}})
	r.Observe(eventlog.Record{Transition: eventlog.Transition{Workflow: "orders"}})
	select {
	case name := <-looked:
		if name != "orders" {
			t.Errorf("looked at %s", name)
		}
	case <-time.After(time.Minute):
		t.Error("not looked at")
	}
}
