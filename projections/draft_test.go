package projections_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/foldtest"
)

// folded folds the facts of a record as a decision does, before the record stands anywhere.
func folded(t *testing.T, s *projections.State, r *eventlog.Record) *projections.Folded {
	t.Helper()
	draft := projections.NewDraft(s, eventlog.Transition{Workflow: r.Workflow, At: r.At, Actor: r.Actor}, s.Head.Seq+1)
	for _, fact := range r.Facts {
		if err := draft.Add(fact); err != nil {
			t.Fatal(err)
		}
	}
	return draft.Take()
}

func sameInnards(t *testing.T, want, got *projections.State) {
	t.Helper()
	w, g := projections.Innards(want), projections.Innards(got)
	if reflect.DeepEqual(w, g) {
		return // the common case, without the cost of a diff
	}
	all := cmp.Exporter(func(reflect.Type) bool { return true })
	t.Fatalf("revision %d: the draft has folded another state (-fold +draft):\n%s", want.Head.Revision,
		cmp.Diff(w, g, all))
}

// TestWhatADraftHasFolded: the state of a draft is the one that a fold of its record gives, wherever the record has
// come to stand. Half of the records stand where the draft stood.
func TestWhatADraftHasFolded(t *testing.T) {
	t.Parallel()
	for seed := range few(24) {
		log := foldtest.NewLog(seed)
		h := foldtest.NewHistory(log, "w")
		if seed%2 == 1 {
			h = foldtest.NewConcurrentHistory(log, "w")
		}
		chance := rand.New(rand.NewPCG(seed, 2))
		s := new(projections.State)
		var states []*projections.State
		var dumps []map[projections.Key]string
		for range 120 {
			rec, err := h.Step()
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			rec.Position.Seq = s.Head.Seq + 1 + chance.Uint64N(2)*(1+chance.Uint64N(5))
			taken := folded(t, s, &rec)
			want, err := projections.Apply(s, &rec)
			if err != nil {
				t.Fatal(err)
			}
			next, ok := taken.Apply(s, &rec)
			if !ok {
				t.Fatalf("seed %d: revision %d is to be folded once more", seed, rec.Revision)
			}
			sameInnards(t, want, next)
			states, dumps = append(states, next), append(dumps, dump(t, next))
			s = next
		}
		for i := range states {
			if diff := cmp.Diff(dumps[i], dump(t, states[i])); diff != "" {
				t.Fatalf("seed %d: the state after revision %d changed later:\n%s", seed, i+1, diff)
			}
		}
	}
}

// TestWhatADraftHasFoldedOfAKey: a transition publishes an event and begins its run. The key of the event is taken at
// the place that the record gets in the log, not at the draft's.
func TestWhatADraftHasFoldedOfAKey(t *testing.T) {
	t.Parallel()
	p := concurrent(t, "/k")
	before := p.State
	event, waits := ref("begun"), ref("waits")
	rec, err := p.Append(func() {
		for _, id := range []eventlog.MessageID{event.MessageID, waits.MessageID} {
			p.Add(&eventlog.EventPublished{Topic: "in", MessageID: id, Payload: []byte(`{"k":"same"}`)})
		}
		p.Add(&eventlog.RunStarted{Run: "R1", Handler: foldtest.Each, HandlerType: eventlog.ConsumerHandler, Version: "1.0",
			Phase: eventlog.PhasePreparing, Engine: "e", Event: &event, Key: "same"})
		p.Add(&eventlog.EventReserved{Topic: "in", MessageID: event.MessageID, Run: "R1"})
	})
	if err != nil {
		t.Fatal(err)
	}
	rec.Position.Seq = before.Head.Seq + 7
	taken := folded(t, before, &rec)
	want, err := projections.Apply(before, &rec)
	if err != nil {
		t.Fatal(err)
	}
	next, ok := taken.Apply(before, &rec)
	if !ok {
		t.Fatal("it is to be folded once more")
	}
	sameInnards(t, want, next)
}

// TestAGroupThatWasFolded: a group is decided at provisional places. If a record gets another place, a state that was
// returned already is not changed: the record is folded again.
func TestAGroupThatWasFolded(t *testing.T) {
	t.Parallel()
	for _, moved := range []bool{false, true} {
		h := foldtest.NewConcurrentHistory(foldtest.NewLog(3), "w")
		var records []eventlog.Record
		var taken []*projections.Folded
		s := new(projections.State)
		for range 60 {
			rec, err := h.Step()
			if err != nil {
				t.Fatal(err)
			}
			rec.Position.Seq = s.Head.Seq + 1
			taken = append(taken, folded(t, s, &rec))
			records = append(records, rec)
			next, ok := taken[len(taken)-1].Apply(s, &rec)
			if !ok {
				t.Fatalf("revision %d is to be folded once more", rec.Revision)
			}
			s = next
		}
		s = new(projections.State)
		want := s
		for i, rec := range records {
			if moved && i >= 30 {
				rec.Position.Seq++
			}
			var err error
			if want, err = projections.Apply(want, &rec); err != nil {
				t.Fatal(err)
			}
			next, ok := taken[i].Apply(s, &rec)
			if ok != (!moved || i < 30) {
				t.Fatalf("moved %t: revision %d is taken over: %t", moved, rec.Revision, ok)
			}
			if !ok {
				next = want
			}
			sameInnards(t, want, next)
			s = next
		}
	}
}

// TestTheLastOfAGroupWasDecidedElsewhere: the first record of a group has got another place than the one at which the
// last was decided. What the last has folded has entities of the first at that place, so it is folded again.
func TestTheLastOfAGroupWasDecidedElsewhere(t *testing.T) {
	t.Parallel()
	h := foldtest.NewHistory(foldtest.NewLog(1), "w")
	s := h.State
	first, err := h.Step()
	if err != nil {
		t.Fatal(err)
	}
	guessed := first
	guessed.Position.Seq = s.Head.Seq + 1
	first.Position.Seq = s.Head.Seq + 5
	decided, ok := folded(t, s, &first).Apply(s, &guessed)
	if !ok {
		t.Fatal("the first is to be folded once more")
	}
	last, err := h.Step()
	if err != nil {
		t.Fatal(err)
	}
	last.Position.Seq = first.Position.Seq + 1
	taken := folded(t, decided, &last)
	written, err := projections.Apply(s, &first)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := taken.Apply(written, &last); ok {
		t.Error("what was decided on the guessed place was taken over")
	}
	if _, ok := taken.Apply(decided, &last); !ok {
		t.Error("on the state of its decision it is to be folded once more")
	}
}

// TestWhatIsFoldedOnceMore: what a draft has folded says nothing of another record, nor on another state.
func TestWhatIsFoldedOnceMore(t *testing.T) {
	t.Parallel()
	h := foldtest.NewHistory(foldtest.NewLog(1), "w")
	for range 10 {
		if _, err := h.Step(); err != nil {
			t.Fatal(err)
		}
	}
	s := h.State
	rec, err := h.Step()
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(r *eventlog.Record){
		"workflow": func(r *eventlog.Record) { r.Workflow = "other" },
		"time":     func(r *eventlog.Record) { r.At++ },
		"actor":    func(r *eventlog.Record) { r.Actor = eventlog.Actor{Kind: "user", Name: "eve"} },
		"facts":    func(r *eventlog.Record) { r.Facts = append(r.Facts, &eventlog.WorkflowArchived{}) },
		"revision": func(r *eventlog.Record) { r.Revision++ },
		"chain":    func(r *eventlog.Record) { r.Prev[0]++ },
	} {
		other := rec
		taken := folded(t, s, &other)
		change(&other)
		if _, ok := taken.Apply(s, &other); ok {
			t.Errorf("a record with another %s was not folded", name)
		}
	}
	taken := folded(t, s, &rec)
	if _, ok := taken.Apply(h.State, &rec); ok {
		t.Error("a record was not folded on another state")
	}
	if _, ok := (*projections.Folded)(nil).Apply(s, &rec); ok {
		t.Error("a record was not folded, without a draft")
	}
	if _, ok := taken.Apply(s, &rec); !ok {
		t.Error("the record itself is to be folded once more")
	}
}
