package projections_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// shown is all that a state says of its entities.
func shown(s *projections.State) string {
	text := fmt.Sprintf("%+v\n", s.Workflow)
	for id, r := range s.Runs() {
		text += fmt.Sprintf("%s %+v\n", id, *r)
	}
	for id, e := range s.Events() {
		text += fmt.Sprintf("%s %+v\n", id, *e)
	}
	for id, m := range s.Mutations() {
		text += fmt.Sprintf("%s %+v\n", id, *m)
	}
	for e := range s.Pending("in") {
		text += fmt.Sprintf("pending %s\n", e.MessageID)
	}
	return text
}

// A state that was handed out never changes, though each fold changes the runs of its own transition in
// place. Two futures of one state do not see each other.
func TestAStateOnceReadNeverChanges(t *testing.T) {
	t.Parallel()
	record := func(s *projections.State, facts ...eventlog.Fact) *eventlog.Record {
		return &eventlog.Record{
			Position: eventlog.Position{Seq: s.Head.Seq + 1},
			Transition: eventlog.Transition{Workflow: "w", Revision: s.Head.Revision + 1,
				At: eventlog.Instant(s.Head.Revision + 1), Facts: facts},
		}
	}
	var states []*projections.State
	var before []string
	s := new(projections.State)
	step := func(from *projections.State, facts ...eventlog.Fact) *projections.State {
		t.Helper()
		next, err := projections.Apply(from, record(from, facts...))
		if err != nil {
			t.Fatal(err)
		}
		states, before = append(states, next), append(before, shown(next))
		return next
	}
	s = step(s, &eventlog.WorkflowDeployed{
		Version: "1.0", Definition: eventlog.Definition{Topics: []eventlog.Topic{"in", "out"},
			Consumers: []eventlog.Consumer{{Name: "send", Subscribe: []eventlog.Topic{"in"}}}},
	})
	for n := range 3 {
		for _, facts := range item(n) {
			crashed := s // another future of the same state, folded first and dropped
			if crashed.Current != "" {
				step(crashed, &eventlog.RunCrashed{Run: crashed.Current}, &eventlog.BackoffStarted{Attempt: 1})
			}
			s = step(s, facts...)
		}
	}
	for i := range states {
		if now := shown(states[i]); now != before[i] {
			t.Errorf("state %d was\n%s\nand is now\n%s", i, before[i], now)
		}
	}
}

// What was read from a draft between two facts never changes either: a decision goes on with it.
func TestWhatWasReadFromADraftNeverChanges(t *testing.T) {
	t.Parallel()
	s := apply(t, new(projections.State), &eventlog.WorkflowDeployed{
		Version: "1.0", Definition: eventlog.Definition{Topics: []eventlog.Topic{"in", "out"},
			Consumers: []eventlog.Consumer{{Name: "send", Subscribe: []eventlog.Topic{"in"}}}},
	})
	for _, facts := range item(0) {
		draft := projections.NewDraft(s, eventlog.Transition{Workflow: "w", At: 1}, s.Head.Seq+1)
		read, before := map[any]projections.Key{}, map[any]string{}
		for _, fact := range facts {
			if err := draft.Add(fact); err != nil {
				t.Fatal(err)
			}
			for _, k := range draft.State().Touched {
				if entity := draft.State().Entity(k); k != projections.WorkflowKey() && before[entity] == "" {
					read[entity], before[entity] = k, fmt.Sprintf("%+v", entity)
				}
			}
			for entity, k := range read {
				if now := fmt.Sprintf("%+v", entity); now != before[entity] {
					t.Errorf("%s has changed %c %q, which was\n%s\nand is now\n%s", fact.FactType(), k.Kind, k.ID,
						before[entity], now)
				}
			}
		}
		s = apply(t, s, facts...)
	}
}

// A reused draft leads to the same state as a new one, and does not change the state that it began with.
func TestAReusedDraftLeadsWhereANewOneLeads(t *testing.T) {
	t.Parallel()
	s := apply(t, new(projections.State), &eventlog.WorkflowDeployed{
		Version: "1.0", Definition: eventlog.Definition{Topics: []eventlog.Topic{"in", "out"},
			Consumers: []eventlog.Consumer{{Name: "send", Subscribe: []eventlog.Topic{"in"}}}},
	})
	of := func(d *projections.Draft) (all []any) {
		all = append(all, d.Facts(), d.State().Workflow, d.State().Parked, d.State().Touched)
		for _, k := range d.State().Touched {
			all = append(all, d.State().Entity(k))
		}
		return all
	}
	used := new(projections.Draft)
	for n := range 3 {
		for _, facts := range item(n) {
			before := shown(s)
			fresh := projections.NewDraft(s, eventlog.Transition{Workflow: "w", At: 1}, s.Head.Seq+1)
			used.Begin(s, eventlog.Transition{Workflow: "w", At: 1}, s.Head.Seq+1)
			for _, fact := range facts {
				if err := errors.Join(fresh.Add(fact), used.Add(fact)); err != nil {
					t.Fatal(err)
				}
			}
			if !reflect.DeepEqual(of(used), of(fresh)) {
				t.Errorf("the used draft leads to\n%s\nand a new one to\n%s", shown(used.State()), shown(fresh.State()))
			}
			if now := shown(s); now != before {
				t.Errorf("the state that it began with was\n%s\nand is now\n%s", before, now)
			}
			s = apply(t, s, facts...)
		}
	}
}
