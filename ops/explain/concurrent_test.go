package explain

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// life is a workflow with a concurrent consumer, decided on and folded as an engine does it.
type life struct {
	*testing.T
	state *projections.State
	now   eventlog.Instant
	runs  int
	seq   uint64
	most  int
	// engine is the name of the process that decides.
	engine string
}

// begin deploys the consumer and publishes events, each with its id as key unless it is written as id:key.
func begin(t *testing.T, c eventlog.Consumer, ids ...string) *life {
	t.Helper()
	l := &life{T: t, state: new(projections.State), now: 1_700_000_000_000_000, most: 1000, engine: "E"}
	c.Name, c.Subscribe, c.HasMutate, c.HasNext = "send", []eventlog.Topic{"in"}, true, true
	l.do(decide.Deploy{Filename: "w.ts", Source: "…", SourceHash: "1", Grants: map[string]eventlog.Grant{"m.*": "allow"},
		Definition: eventlog.Definition{Topics: []eventlog.Topic{"in"}, Consumers: []eventlog.Consumer{c}}})
	l.push(ids...)
	return l
}

func (l *life) push(ids ...string) {
	l.Helper()
	push := decide.Push{Topic: "in"}
	for _, id := range ids {
		id, key, ok := strings.Cut(id, ":")
		if !ok {
			key = id
		}
		push.Items = append(push.Items, decide.PushItem{MessageID: eventlog.MessageID(id), Title: "Order " + id,
			Payload: fmt.Appendf(nil, `{"k":%q}`, key)})
	}
	l.do(push)
}

func (l *life) present() decide.Present {
	return decide.Present{Now: l.now, Engine: l.engine, MaxHeld: l.most}
}

func (l *life) do(cmd decide.Command) {
	l.Helper()
	s := l.state
	env := decide.Env{Now: l.now, Engine: l.engine, Policies: schedule.Default(), MaxHeld: l.most,
		Run: l.run(1), Session: "S", Actor: eventlog.Actor{Kind: "user", Name: "ann"}}
	for n := range 8 {
		env.Runs = append(env.Runs, l.run(n+2))
	}
	d, err := decide.Decide(s, "shop", env, cmd)
	if err != nil {
		l.Fatalf("%T: %v", cmd, err)
	}
	t := d.Transition("shop", env)
	t.Revision, t.Prev = s.Head.Revision+1, s.Head.Hash
	l.seq++
	if l.state, err = projections.Apply(s, &eventlog.Record{Position: eventlog.Position{Seq: l.seq},
		Transition: t}); err != nil {
		l.Fatal(err)
	}
	for _, f := range d.Facts {
		if _, began := f.(*eventlog.RunStarted); began {
			l.runs++
		}
	}
}

func (l *life) run(n int) eventlog.RunID { return eventlog.RunID(fmt.Sprintf("R%d", l.runs+n)) }

// of returns the active run of the event.
func (l *life) of(id string) *projections.Run {
	l.Helper()
	for run := range l.state.Active("send") {
		if string(run.Event.MessageID) == id {
			return run
		}
	}
	l.Fatalf("no run of %s is active", id)
	return nil
}

// fail ends the run of the event in prepare.
func (l *life) fail(id string, class eventlog.Class, code string) {
	l.Helper()
	l.do(decide.FinishPrepare{Run: l.of(id).ID, Failure: &eventlog.Failure{Class: class, Code: code,
		Message: code + " of " + id + "."}})
}

// call lets the run of the event make its call.
func (l *life) call(id string, reconciles bool) eventlog.MutationID {
	l.Helper()
	run := l.of(id)
	l.do(decide.FinishPrepare{Run: run.ID, Prepared: decide.Prepared{Raw: []byte(`{}`),
		Reservations: []eventlog.EventRef{*run.Event}}})
	l.do(decide.FinishMutate{Run: run.ID, Call: &eventlog.MutationCall{Connector: "m", Operation: "send",
		Params: []byte(`{}`), ParamsHash: "h", UITitle: "Send " + id, Reconciles: reconciles, TimeoutMS: 30_000}})
	return l.state.Run(run.ID).Mutation
}

// uncertain ends the call without a known outcome.
func (l *life) uncertain(m eventlog.MutationID) {
	l.Helper()
	l.do(decide.SettleMutation{Mutation: m, Outcome: decide.Settlement{Status: decide.Uncertain,
		Failure: &eventlog.Failure{Class: eventlog.Transient, Code: "call.timeout", Message: "no answer"}}})
}

func (l *life) why() Why {
	l.Helper()
	return Workflow(l.state, Owed(l.state, l.present()), l.present(), Beside{})
}

// check is what an explanation must say, and the commands that it must name.
func (l *life) check(reason decide.Reason, person bool, says, commands []string) {
	l.Helper()
	w := l.why()
	if got := w.Reason; reason == "" && got != nil || reason != "" && (got == nil || *got != reason) {
		l.Errorf("reason %v, want %q: %s", got, reason, w.Message)
	}
	if w.NeedsPerson != person {
		l.Errorf("needs a person: %v, want %v: %s", w.NeedsPerson, person, w.Message)
	}
	for _, text := range says {
		if !strings.Contains(w.Message, text) {
			l.Errorf("does not say %q: %s", text, w.Message)
		}
	}
	for _, command := range commands {
		if !slices.Contains(w.Commands, command) {
			l.Errorf("does not name %q: %q", command, w.Commands)
		}
	}
	if strings.Contains(w.Message, "..") || !strings.HasSuffix(w.Message, ".") || strings.Contains(w.Message, "\n") {
		l.Errorf("is not one paragraph: %s", w.Message)
	}
}

// C5: each event that is held is explained, by reason and failure, with a way out.
func TestC05_HeldEventsAreExplained(t *testing.T) {
	t.Parallel()
	l := begin(t, eventlog.Consumer{Concurrency: 8}, "a", "b", "c", "d", "e", "f")
	l.fail("a", eventlog.Logic, "script.threw")
	l.fail("b", eventlog.Precondition, "http.404")
	l.check("", true, []string{"4 of its 8 places taken", "Held since 2023-11-14T22:13:20Z for a repair of the script",
		"(logic script.threw: “script.threw of a”)", `event "a" (“Order a”) of topic in`,
		"(precondition http.404: “http.404 of b”)",
		"bring the other side into the state that the call needs"},
		[]string{"pawl deploy FILE", "pawl redrive shop in a", "pawl skip shop in a",
			"pawl resume shop", "pawl skip shop in b"})
	l.fail("c", eventlog.Precondition, "http.404")
	l.fail("d", eventlog.Precondition, "http.410")
	l.uncertain(l.call("e", false))
	l.uncertain(l.call("f", true))
	l.check(decide.ReasonHeld, true, []string{"5 of its events wait for a person or a repair",
		"2 events are held, the oldest since 2023-11-14T22:13:20Z, for a person (precondition http.404; " +
			"such as, for “b”: “http.404 of b”)",
		`event "b" (“Order b”) of topic in and 1 more`, "(precondition http.410: “http.410 of d”)",
		"the outcome of its call, which is being found out"},
		[]string{"pawl jobs list --workflow shop --held person", "pawl mutations show R6",
			"pawl redrive shop --where held=person,class=precondition,code=http.404",
			"pawl skip shop --where held=person,class=precondition,code=http.410", "pawl resolve R5 --did-not-happen"})
	if slices.Contains(l.why().Commands, "pawl skip shop --where held=person") {
		t.Error("a command for one kind of failure skips the other kind too")
	}
	if a := l.why().Attention; a == nil || a.Reason != projections.AttentionHeld || a.Failures != 5 {
		t.Errorf("attention %+v", a)
	}
}

// An event that is tried again by itself is no held one: what waits for a person is told apart, and when the next try
// is.
func TestHeldBesideWhatGoesOn(t *testing.T) {
	t.Parallel()
	l := begin(t, eventlog.Consumer{Concurrency: 8}, "a", "b")
	l.fail("a", eventlog.Precondition, "http.404")
	l.fail("b", eventlog.Transient, "http.connect")
	l.check(decide.ReasonHeld, true, []string{"Of workflow shop, 1 of its events waits for a person or a repair; what " +
		"else it has goes on by itself.", "The next of them is tried again at 2023-11-14T22:13:2"}, nil)
	l.do(decide.SkipEvent{Topic: "in", MessageID: "b"})
	l.check(decide.ReasonHeld, true, []string{"Workflow shop has only held events left: 1 of its events waits"}, nil)
}

// Each part has the sentences and the commands that are about one thing. Together they are the message and all
// commands.
func TestParts(t *testing.T) {
	t.Parallel()
	l := begin(t, eventlog.Consumer{Concurrency: 8}, "a", "b")
	l.fail("a", eventlog.Precondition, "http.404")
	l.fail("b", eventlog.Logic, "script.threw")
	why := l.why()
	var said, commands []string
	for _, p := range why.Parts {
		said, commands = append(said, p.Message), append(commands, p.Commands...)
		repairs := slices.Contains(p.Commands, "pawl deploy FILE")
		if repairs != strings.Contains(p.Message, "script.threw") {
			t.Errorf("a part: %+v", p)
		}
	}
	if strings.Join(said, " ") != why.Message || !slices.Equal(commands, why.Commands) || len(why.Parts) < 3 {
		t.Errorf("parts %+v of %+v", why.Parts, why)
	}
	if alone := begin(t, eventlog.Consumer{}, "a").why(); alone.Parts != nil {
		t.Errorf("an explanation of one thing has the parts %+v", alone.Parts)
	}
}

// After a restore it is not known what has left since the backup: approved calls are named, with what keeps them (O6).
func TestRestoredNamesApprovedCalls(t *testing.T) {
	t.Parallel()
	l := begin(t, eventlog.Consumer{Concurrency: 1}, "a", "b", "c")
	l.do(decide.SetGrants{Grants: map[string]eventlog.Grant{"m.*": eventlog.GrantAsk}})
	approved := l.call("a", true)
	l.call("b", true)
	l.do(decide.Approve{Mutation: approved}) // the run of c has the place
	l.do(decide.Restore{Fact: eventlog.LogRestored{TakenAt: l.now, From: "backup"}})
	l.fail("c", eventlog.Precondition, "http.404")
	l.check(decide.ReasonRestored, true, []string{"waited for a place (1) leave at the resume",
		"Of calls that wait for an approval (1)"}, []string{"pawl skip shop in a", "pawl resume shop"})
}

// An error of the script is named with its line.
func TestHeldWithTheLine(t *testing.T) {
	t.Parallel()
	l := begin(t, eventlog.Consumer{Concurrency: 2}, "a")
	l.do(decide.FinishPrepare{Run: l.of("a").ID, Failure: &eventlog.Failure{Class: eventlog.Logic, Code: "script.threw",
		Message: "no such customer", Line: 15}})
	l.check(decide.ReasonHeld, true, []string{"(logic script.threw: “no such customer” in line 15)"}, nil)
}

// A bulk command is named only where it ends each event of its group: a skip ends nothing where only next is left (O7).
func TestC05_BulkCommandsEndTheGroup(t *testing.T) {
	t.Parallel()
	l := begin(t, eventlog.Consumer{Concurrency: 8}, "a", "b", "c", "d")
	next := func(id, code string) {
		m := l.call(id, true)
		l.do(decide.SettleMutation{Mutation: m, Outcome: decide.Settlement{Status: decide.Applied, Result: []byte("{}")}})
		l.do(decide.CommitRun{Run: l.of(id).ID, Failure: &eventlog.Failure{Class: eventlog.Logic, Code: code,
			Message: "next"}})
	}
	next("a", "script.threw")
	next("b", "script.threw")
	l.check("", true, []string{"only next is left to run"},
		[]string{"pawl deploy FILE", "pawl redrive shop --where held=repair"})
	if said := strings.Join(l.why().Commands, "; "); strings.Contains(said, "pawl skip") {
		t.Errorf("a skip is named that ends nothing: %s", said)
	}
	// Beside it another kind of failure, of which a skip ends all.
	l.fail("c", eventlog.Logic, "run.timeout")
	l.check("", true, nil, []string{"pawl redrive shop --where held=repair,class=logic,code=script.threw",
		"pawl skip shop --where held=repair,class=logic,code=run.timeout"})
	l.fail("d", eventlog.Logic, "script.threw") // before its change, and still one of three in its group
	if said := strings.Join(l.why().Commands, "; "); strings.Contains(said, "pawl skip shop --where held=repair,"+
		"class=logic,code=script.threw") {
		t.Errorf("a skip is named that ends one of three: %s", said)
	}
}

// What cannot be asked for is not said to be asked for: a person decides, and from when on is told (F5).
func TestF5_WhatCannotBeAsked(t *testing.T) {
	t.Parallel()
	l := begin(t, eventlog.Consumer{Concurrency: 8}, "a")
	l.call("a", false)
	l.engine = "F"
	l.do(decide.Recover{})
	l.check(decide.ReasonReconcile, false, []string{
		"for a person to decide at 2023-11-14T22:13:51Z, when nothing of its call can be under way (transient "},
		[]string{"pawl mutations show R1"})
}

// Every reason has its own commands, and those of an archived or a paused workflow are accepted there.
func TestEnds(t *testing.T) {
	t.Parallel()
	l := begin(t, eventlog.Consumer{Concurrency: 4}, "a", "b")
	l.fail("b", eventlog.Logic, "script.threw")
	m := l.call("a", true)
	l.uncertain(m)
	l.now = l.now.Add(time.Hour)
	held := func(id eventlog.MessageID) []string {
		e := l.state.Event("in", id)
		run, m := heldBy(l.state, e)
		return Beside{}.Ends(&l.state.Workflow, e, run, m)
	}
	if got := held("a"); len(got) != 0 {
		t.Errorf("what is being asked for ends by %q", got)
	}
	for l.state.Mutation(m).Status != eventlog.MutationStatusIndeterminate {
		l.now = l.state.Mutation(m).ReconcileAt
		l.do(decide.SettleMutation{Mutation: m, By: eventlog.ResolvedByReconcile, OverAt: l.now,
			Outcome: decide.Settlement{Status: decide.Uncertain,
				Failure: &eventlog.Failure{Class: eventlog.Transient, Code: "call.unknown", Message: "not known yet"}}})
	}
	resolves := []string{"pawl resolve R1 --ask-again", "pawl resolve R1 --happened", "pawl resolve R1 --did-not-happen",
		"pawl resolve R1 --skip"}
	if got := held("a"); !slices.Equal(got, resolves) {
		t.Errorf("indeterminate: %q", got)
	}
	// What a person cannot know yet is not offered (O1).
	open := Beside{Outlook: func(w eventlog.WorkflowName, id eventlog.MutationID) engine.Outlook {
		return engine.Outlook{Asks: true, MayTakeEffect: w == "shop" && id == "R1"}
	}}
	e := l.state.Event("in", "a")
	run, of := heldBy(l.state, e)
	without := slices.Delete(slices.Clone(resolves), 2, 3)
	if got := open.Ends(&l.state.Workflow, e, run, of); !slices.Equal(got, without) {
		t.Errorf("while it may take effect: %q", got)
	}
	why := Workflow(l.state, Owed(l.state, l.present()), l.present(), open)
	if said := strings.Join(why.Commands, "; "); strings.Contains(said, "did-not-happen") ||
		!strings.Contains(said, "R1 --happened") || !strings.Contains(why.Message, "once its exchange has ended") {
		t.Errorf("while it may take effect: %s %s", why.Message, said)
	}
	l.do(decide.Archive{})
	if got := held("a"); !slices.Equal(got, resolves) {
		t.Errorf("indeterminate in the archive: %q", got)
	}
	if got := held("b"); !slices.Equal(got, []string{"pawl skip shop in b"}) {
		t.Errorf("held for a repair in the archive: %q", got)
	}

	l = begin(t, eventlog.Consumer{Concurrency: 4}, "a")
	l.do(decide.SetGrants{Grants: map[string]eventlog.Grant{"m.*": eventlog.GrantAsk}})
	m = l.call("a", true)
	if got := held("a"); !slices.Equal(got, []string{"pawl approve R1", "pawl reject R1", "pawl skip shop in a"}) {
		t.Errorf("approval: %q", got)
	}
	l.do(decide.Pause{})
	if got := held("a"); !slices.Equal(got, []string{"pawl resume shop", "pawl reject R1", "pawl skip shop in a"}) {
		t.Errorf("approval under a pause: %q", got)
	}
	if w := l.why(); w.Reason == nil || *w.Reason != decide.ReasonUserPause || !w.NeedsPerson {
		t.Errorf("a pause: %+v", w)
	}
	l.do(decide.Reject{Mutation: m})
}

// C2, C3, C7, C12: what keeps a consumer from beginning more is said, and which events wait behind which.
func TestStandingIsExplained(t *testing.T) {
	t.Parallel()
	t.Run("places and keys", func(t *testing.T) {
		t.Parallel()
		l := begin(t, eventlog.Consumer{Concurrency: 2, Key: "k"}, "a:x", "b:x", "c:y", "d:z", "e:x")
		l.check("", false, []string{"2 of its 2 places taken",
			"At consumer send wait: 1 event for a run, 2 events until an earlier one of the same key has ended.",
			"All places of send are taken"}, nil)
		l.fail("a", eventlog.Precondition, "http.404")
		l.check("", true, []string{`event "a" (“Order a”) of topic in; 2 events with the key "x" wait until it has ended.`},
			[]string{"pawl events list --workflow shop --topic in --status pending"})
	})
	t.Run("rate", func(t *testing.T) {
		t.Parallel()
		l := begin(t, eventlog.Consumer{Concurrency: 2, Rate: "1/m"}, "a", "b")
		l.check("", false, []string{"It begins at most 1/m (rate): the next run at 2023-11-14T22:14:20Z"}, nil)
		l.fail("a", eventlog.Precondition, "http.404")
		l.do(decide.SkipEvent{Topic: "in", MessageID: "a"})
		l.check(decide.ReasonRate, false, []string{"by itself at 2023-11-14T22:14:20Z, because of its rate"}, nil)
	})
	t.Run("probing", func(t *testing.T) {
		t.Parallel()
		l := begin(t, eventlog.Consumer{Concurrency: 3}, "a", "b", "c", "d")
		for _, id := range []string{"a", "b", "c"} {
			l.fail(id, eventlog.Transient, "http.connect")
		}
		l.fail("d", eventlog.Transient, "http.connect")
		l.check(decide.ReasonProbing, false, []string{"tries it again by itself at",
			"Three events of send in a row failed alike",
			"(transient: “http.connect of"}, []string{"pawl resume shop"})
	})
	t.Run("a target that refuses", func(t *testing.T) {
		t.Parallel()
		l := begin(t, eventlog.Consumer{Concurrency: 3}, "a", "b", "c")
		for _, id := range []string{"a", "b", "c"} {
			l.fail(id, eventlog.Auth, "http.401")
		}
		l.check(decide.ReasonProbing, true, []string{"Correct the connector's credentials, then resume.",
			"If its events are at fault and not the target, end those that failed with this error."},
			[]string{"pawl resume shop", "pawl skip shop --where topic=in,class=auth"})
		if a := l.why().Attention; a == nil || a.Reason != projections.AttentionProbing {
			t.Errorf("attention %+v", a)
		}
		l.do(decide.Resume{})
		if a := l.state.Attention(); a != nil || l.state.Counts.Probing != nil {
			t.Errorf("after a resume: %+v, %+v", a, l.state.Counts)
		}
	})
	t.Run("unknown outcomes", func(t *testing.T) {
		t.Parallel()
		l := begin(t, eventlog.Consumer{Concurrency: 3}, "a", "b", "c", "d")
		for _, id := range []string{"a", "b", "c"} {
			l.uncertain(l.call(id, true))
		}
		l.do(decide.SkipEvent{Topic: "in", MessageID: "d"})
		l.push("e")
		says := []string{"begins no run: three of its calls in a row ended without a known outcome",
			"until the outcome of one of these 3 calls is known"}
		l.check(decide.ReasonUncertain, true, says, []string{"pawl mutations show R1", "pawl resume shop"})

		l = begin(t, eventlog.Consumer{Concurrency: 4}, "a", "b", "c", "d")
		l.fail("d", eventlog.Precondition, "http.404") // an event that is held hides nothing of it
		for _, id := range []string{"a", "b", "c"} {
			l.uncertain(l.call(id, true))
		}
		l.push("e")
		l.check(decide.ReasonUncertain, true, says, []string{"pawl mutations show R1", "pawl resume shop"})
	})
	t.Run("held.max", func(t *testing.T) {
		t.Parallel()
		l := begin(t, eventlog.Consumer{Concurrency: 1}, "a", "b")
		l.most = 1
		l.fail("a", eventlog.Precondition, "http.404")
		l.check(decide.ReasonHeldMost, true, []string{"begins no run: as many of its events are held as may be",
			"No run begins for another event of send: 1 of its events is held, or has a run that waits for a place. One " +
				"begins when fewer than 1 are (policies.held.max)."}, []string{"pawl resume shop"})
	})
	t.Run("back-off", func(t *testing.T) {
		t.Parallel()
		l := begin(t, eventlog.Consumer{Concurrency: 1}, "a")
		l.fail("a", eventlog.Transient, "http.connect")
		l.check(decide.ReasonBackoff, false, []string{"Consumer send of workflow shop has nothing to do until"},
			[]string{"pawl jobs list --workflow shop --state retryable", "pawl resume shop"})
		for range 6 {
			l.now = l.now.Add(time.Hour)
			l.do(decide.Tick{})
			l.fail("a", eventlog.Transient, "http.connect")
		}
		l.check(decide.ReasonBackoff, true, []string{"1 of its events has failed so often"}, nil)
	})
}

// C8: under a pause or in the archive concurrent consumers do not go on either.
func TestNothingGoesOnBesideAPause(t *testing.T) {
	t.Parallel()
	const at, later = eventlog.Instant(1_700_000_000_000_000), eventlog.Instant(1_700_000_060_000_000)
	for _, archived := range []bool{false, true} {
		s := new(projections.State).Hydrate(
			&projections.Workflow{Name: "shop", Head: eventlog.Head{Revision: 7}, PendingRetry: "R1"},
			&projections.Run{ID: "R1", Handler: "sum", Type: eventlog.ConsumerHandler, Status: eventlog.RunStatusPausedReconcile,
				Mutation: "M1", StartedAt: at, Engine: "E", EndedAt: at},
			&projections.Mutation{ID: "M1", Run: "R1", Status: eventlog.MutationStatusNeedsReconcile, ReconcileAt: later,
				Call:      eventlog.MutationCall{Connector: "mail", Operation: "send", Reconciles: true},
				StartedAt: at, Engine: "E"},
			&projections.Script{Version: "1", Definition: eventlog.Definition{Consumers: []eventlog.Consumer{
				{Name: "each", Subscribe: []eventlog.Topic{"in"}, Concurrency: 4},
				{Name: "sum", Subscribe: []eventlog.Topic{"done"}}}}},
			&projections.Handler{Name: "each"}, &projections.Handler{Name: "sum"},
		)
		s.Version = "1"
		if archived {
			s.Archived = true
		} else {
			s.Pause = &projections.Pause{By: eventlog.Actor{Kind: "user", Name: "ada"}, Since: at}
		}
		p := decide.Present{Now: at, Engine: "E", MaxHeld: 1000}
		w := Workflow(s, Owed(s, p), p, Beside{})
		if !strings.Contains(w.Message, "nothing else of the workflow runs until it is known") {
			t.Errorf("archived %t: %s", archived, w.Message)
		}
	}
}
