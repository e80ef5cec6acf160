package decide_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

func (b *bench) owed() []decide.Todo {
	return decide.Owed(b.state, decide.Present{Now: b.now, Engine: b.engine, MaxHeld: b.maxHeld})
}

// place is that of the event that a concurrent consumer owes the start of.
func (b *bench) place() *projections.Candidate {
	for _, todo := range b.owed() {
		if begin, ok := todo.(decide.BeginEvent); ok {
			return &begin.Place
		}
	}
	return nil
}

// checkConcurrent asserts what holds of concurrent consumers in every state (C1, C2, C3).
func (b *bench) checkConcurrent() {
	b.t.Helper()
	s := b.state
	for _, c := range s.Definition().Consumers {
		active, keys := 0, map[string]eventlog.RunID{}
		for run := range s.Active(c.Name) {
			active++
			if len(s.ReservedBy(run)) == 0 || run.RetryOf != "" {
				continue // its event has ended, or had another key before a deploy: next alone is left
			}
			if other, busy := keys[run.Key]; busy && run.Key != "" && c.Key != "" && run.Version == s.Version &&
				s.Run(other).Version == s.Version {
				b.t.Fatalf("runs %s and %s are active for the key %s (C2)", run.ID, other, run.Key)
			}
			keys[run.Key] = run.ID
		}
		if active > max(c.Concurrency, 0) && c.Concurrent() && len(s.Definition().Consumers) > 0 && b.oneVersion() {
			b.t.Fatalf("%d runs of %s are active, %d may be (C3)", active, c.Name, c.Concurrency)
		}
	}
	b.checkKeyOrder()
	events := map[eventlog.EventRef]eventlog.RunID{}
	for run := range s.OpenRuns() {
		if other, taken := events[*run.Event]; taken {
			b.t.Fatalf("runs %s and %s are open for event %s of %s (C1)", run.ID, other, run.Event.MessageID, run.Event.Topic)
		}
		events[*run.Event] = run.ID
		if e := s.Event(run.Event.Topic, run.Event.MessageID); e != nil &&
			e.Status == eventlog.EventStatusReserved && e.ReservedBy != run.ID {
			b.t.Fatalf("event %s of open run %s is reserved by run %s (C1)", e.MessageID, run.ID, e.ReservedBy)
		}
	}
	for _, todo := range b.owed() {
		begin, ok := todo.(decide.BeginEvent)
		if ok && b.hold == decide.NoStandstill && b.last.Kind != "" && b.starts() < 8 &&
			s.PendingAt(begin.Place.Topic, begin.Place.Created) != nil {
			b.t.Fatalf("the transition owes the start of %+v and does not list it", begin)
		}
	}
}

// checkKeyOrder asserts that the last transition began no event while an older one of its key was left (C2).
func (b *bench) checkKeyOrder() {
	b.t.Helper()
	for _, f := range b.last.Facts {
		began, ok := f.(*eventlog.RunStarted)
		if !ok || began.Event == nil || began.RetryOf != "" {
			continue
		}
		c, _ := b.state.Definition().Consumer(began.Handler)
		e := b.event(began.Event.Topic, began.Event.MessageID)
		if c.Key == "" || e == nil {
			continue
		}
		key := projections.EventKeyAt(c.Key, e.Payload)
		for _, row := range b.store {
			x, ok := row.(*projections.TopicEvent)
			if !ok || key == "" || !c.Subscribes(x.Topic) || !x.Created.Before(e.Created) || b.keyOf(c, x) != key {
				continue
			}
			if x.Status == eventlog.EventStatusPending || x.Status == eventlog.EventStatusReserved {
				b.t.Fatalf("run %s of %s began while %s, which is %s, has its key %s (C2)", began.Run, e.MessageID, x.MessageID,
					x.Status, key)
			}
		}
	}
}

// keyOf is the event's key for the consumer. That of a reserved one is fixed with its run, unless a deploy has named
// another path since.
func (b *bench) keyOf(c eventlog.Consumer, e *projections.TopicEvent) string {
	if run := b.state.Run(e.ReservedBy); run != nil && e.Status == eventlog.EventStatusReserved {
		if began, _ := b.state.Script(run.Version).Definition.Consumer(c.Name); began.Key == c.Key {
			return run.Key
		}
	}
	return projections.EventKeyAt(c.Key, e.Payload)
}

// oneVersion: no deploy has changed the number of places while runs were active.
func (b *bench) oneVersion() bool { return b.state.Version == "1.0" }

// starts is how many runs the last transition began.
func (b *bench) starts() (n int) {
	for _, f := range b.last.Facts {
		if _, ok := f.(*eventlog.RunStarted); ok {
			n++
		}
	}
	return n
}

// C1: an event that is paged out and that the local store does not have either would be owed for ever. That is said.
func TestC1_AnEventThatIsNowhere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, cmd := range []decide.Command{
		definition(split("deploy c:in n=1")), decide.Pause{},
		decide.Push{Topic: "in", Items: []decide.PushItem{{MessageID: "a", Title: "A", Payload: []byte(`{}`)}}},
		decide.Resume{},
	} {
		if _, pausing := cmd.(decide.Resume); pausing {
			b.hold = decide.EngineStandstill
		}
		if err := b.do(cmd); err != nil {
			t.Fatal(err)
		}
	}
	place := b.place()
	if place == nil {
		t.Fatalf("owed: %+v", b.owed())
	}
	s := b.state.PageOut(projections.Window{}, func(projections.Key) bool { return true })
	env := decide.Env{Now: b.now, Engine: b.engine, Policies: b.policies, Run: "R9", MaxHeld: b.maxHeld}
	_, err := decide.Decide(s, workflow, env, decide.Tick{Place: place})
	var missing *projections.Missing
	if !errors.As(err, &missing) || len(missing.Keys) != 1 {
		t.Fatalf("decided with %v, which does not ask for the event alone", err)
	}
	_, err = decide.Decide(s.HydrateAll(missing.Keys, nil), workflow, env, decide.Tick{Place: place})
	if err == nil || !strings.Contains(err.Error(), "pending in topic in, and the local store does not have it") {
		t.Errorf("decided with %v", err)
	}
}

// What is approved and waits for its place is said to be that, not to await approval (C3, O5).
func TestC03_ApprovedWaitsForItsPlace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.must("deploy n=1 grant=ask", "push a b", "prepare a run=R1", "mutate call run=R1", "approve R1")
	for line, verb := range map[string]string{"approve R1": "approved", "reject R1": "rejected"} {
		var refusal *decide.Refusal
		want := "mutation R1 is approved and waits for its place, and then leaves by itself; it cannot be " + verb +
			" any more"
		if err := b.command(line); !errors.As(err, &refusal) || refusal.Message != want {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// Of events that have all failed, the one that failed longest ago is the probe, whether or not memory has it (C7).
func TestC07_TheProbeFailedLongestAgo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.must("deploy n=1", "push a b c", "prepare fail transient run=R1", "prepare fail transient run=R2",
		"prepare fail transient run=R3", "after 1h", "tick", "prepare fail transient run=R4", "after 1h")
	if a := b.state.Event("in", "a"); a.FailedAt < b.state.Event("in", "c").FailedAt {
		t.Fatalf("the first probe was not a: %+v", a)
	}
	b.state = b.state.PageOut(projections.Window{}, func(projections.Key) bool { return true })
	b.must("tick")
	if run := b.state.Run("R5"); run == nil || run.Event.MessageID != "b" {
		t.Errorf("the second probe: %+v, want b", run)
	}
}

// C3, R10: a commit that publishes as much as it may is recorded also if an approved call waits for its place. The call
// then starts with the next transition.
func TestC03_ACommitKeepsItsRoom(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.must("deploy n=1 grant=ask", "push b", "prepare b run=R1")
	b.mustDo(decide.FinishMutate{Run: "R1", Call: &eventlog.MutationCall{Connector: "m", Operation: "send",
		Params: []byte(`"` + strings.Repeat("x", 1<<20-100) + `"`), ParamsHash: "h", TimeoutMS: 30_000}})
	b.must("push a", "approve R1", "prepare a run=R2", "mutate none run=R2")
	commit := decide.CommitRun{Run: "R2"}
	for i := range 1400 {
		commit.Publishes = append(commit.Publishes, decide.Publish{Topics: []eventlog.Topic{"free"}, Title: "a title",
			MessageID: eventlog.MessageID(fmt.Sprint("m", i)), Payload: []byte(`"` + strings.Repeat("z", 2000) + `"`)})
	}
	b.mustDo(commit)
	if slices.Contains(kinds(b.last), "mutation.started") {
		t.Fatal("the call has started with a commit that is large by itself")
	}
	b.must("tick")
	if !slices.Contains(kinds(b.last), "mutation.started") {
		t.Errorf("the call does not start: %v", kinds(b.last))
	}
}

// C3: a call that is larger than what may come back beside others starts with a transition of its own.
func TestC03_ALargeCallBeginsATransition(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.must("deploy n=1 grant=ask", "push a", "prepare a run=R1")
	b.mustDo(decide.FinishMutate{Run: "R1", Call: &eventlog.MutationCall{Connector: "m", Operation: "send",
		Params: []byte(`"` + strings.Repeat("x", 5<<19) + `"`), ParamsHash: "h", TimeoutMS: 30_000}})
	b.must("push b", "approve R1", "prepare b run=R2", "mutate none run=R2", "next run=R2")
	if slices.Contains(kinds(b.last), "mutation.started") {
		t.Fatal("the call has started beside another run's end")
	}
	b.must("tick")
	if !slices.Contains(kinds(b.last), "mutation.started") {
		t.Errorf("the call does not start: %v", kinds(b.last))
	}
}

// C3: calls that come back with their places at once may be more than one transition holds, as when a new engine finds
// those in flight without an end. The rest of them is owed.
func TestC03_LargeCallsComeBackInTurn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.must("deploy n=6 grant=ask")
	params := []byte(`"` + strings.Repeat("x", 900_000) + `"`)
	var calls []eventlog.MutationID
	for i := range 12 {
		id := fmt.Sprint("e", i)
		b.must("push " + id)
		run := b.state.OpenRun("in", eventlog.MessageID(id)).ID
		b.must(fmt.Sprintf("prepare %s run=%s", id, run))
		b.mustDo(decide.FinishMutate{Run: run, Call: &eventlog.MutationCall{Connector: "m", Operation: "send",
			Params: params, ParamsHash: "h", TimeoutMS: 30_000}})
		calls = append(calls, b.state.Run(run).Mutation)
	}
	for _, m := range calls { // six get places, six wait for one
		b.mustDo(decide.Approve{Mutation: m})
	}
	b.must("engine E2", "recover")
	for n := 1; ; n++ {
		entry, err := eventlog.NewEntry(b.last.Transition(workflow, decide.Env{Now: b.now}), b.state.Head)
		if err != nil {
			t.Fatal(err)
		}
		if len(entry.Stored) > 2<<20 {
			t.Fatalf("transition %d of the new engine has %d bytes", n, len(entry.Stored))
		}
		if b.state.Places("c") == 6 {
			break
		}
		starts := func(todo decide.Todo) bool { _, ok := todo.(decide.StartRun); return ok }
		if !slices.ContainsFunc(b.owed(), starts) {
			t.Fatalf("%d runs have a place, and owed is %+v", b.state.Places("c"), b.owed())
		}
		b.must("tick")
	}
}
