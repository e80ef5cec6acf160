package store

import (
	"errors"
	"slices"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/foldtest"
)

// TestListOfOneWorkflowHoldsItsRowsOnly: rows of all workflows stand together, and a list of one
// of them is whole and in order, forwards and backwards.
func TestListOfOneWorkflowHoldsItsRowsOnly(t *testing.T) {
	t.Parallel()
	s := open(t, Config{InMemory: true})
	log := foldtest.NewLog(30)
	log.Partition = 5
	histories := []*foldtest.History{foldtest.NewHistory(log, "a"), foldtest.NewHistory(log, "ab"),
		foldtest.NewHistory(log, "b")}
	for range 60 { // in turn, so that no workflow's rows stand side by side
		for _, h := range histories {
			if _, err := h.Step(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, h := range histories {
		b := whole(h)
		b.Partition = 5
		commit(t, s, b)
	}
	snap, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	for _, h := range histories {
		var want []projections.Ordinal
		for _, run := range h.State.Runs() {
			want = append(want, run.Created)
		}
		slices.SortFunc(want, func(a, b projections.Ordinal) int {
			if a.Before(b) {
				return -1
			}
			return 1
		})
		for _, desc := range []bool{false, true} {
			var got []projections.Ordinal
			for item, err := range snap.List(Range{Kind: projections.KindRun, Workflow: h.State.Name, Desc: desc}, Position{}) {
				if err != nil {
					t.Fatal(err)
				}
				if item.Workflow != h.State.Name {
					t.Fatalf("a run of %s is in the list of %s", item.Workflow, h.State.Name)
				}
				got = append(got, item.Entity.(*projections.Run).Created)
			}
			if desc {
				slices.Reverse(got)
			}
			if len(want) == 0 || !slices.Equal(got, want) {
				t.Errorf("%s, backwards %v: runs at %v, want %v", h.State.Name, desc, got, want)
			}
		}
	}
}

// TestARowOfAnotherWorkflowIsDamage: an entry that leads to the row of another workflow never yields it.
func TestARowOfAnotherWorkflowIsDamage(t *testing.T) {
	t.Parallel()
	s := open(t, Config{InMemory: true})
	log := foldtest.NewLog(31)
	commit(t, s, whole(grow(t, log, "mine", 5)))
	commit(t, s, whole(grow(t, log, "theirs", 5)))
	key := projections.ScriptKey("1.0")
	theirs, done, err := s.db.Get(appendID(nil, "theirs", key))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.db.Set(appendID(nil, "mine", key), theirs, nil), done.Close()); err != nil {
		t.Fatal(err)
	}
	if rows, err := s.Get("mine", []projections.Key{key}); !errors.Is(err, ErrDamaged) {
		t.Fatalf("read %v, %v; want ErrDamaged", rows, err)
	}
	if rows, err := s.Get("theirs", []projections.Key{key}); err != nil || len(rows) != 1 {
		t.Fatalf("its owner reads %v, %v", rows, err)
	}
}

func TestRowsWithoutAHeadAreDamage(t *testing.T) {
	t.Parallel()
	row := head{time: 7, workflow: "w"}.append(nil)
	for n := range len(row) {
		if _, _, err := decodeHead(row[:n]); !errors.Is(err, ErrDamaged) {
			t.Errorf("%d of %d bytes: %v, want ErrDamaged", n, len(row), err)
		}
	}
	h, body, err := decodeHead(append(row, "entity"...))
	if err != nil || h != (head{7, eventlog.WorkflowName("w")}) || string(body) != "entity" {
		t.Errorf("read back %+v %q %v", h, body, err)
	}
}

// What memory must know of a waiting event is read from its mark as it was written; damaged marks are errors.
func TestWaits(t *testing.T) {
	t.Parallel()
	transient := []projections.Attempt{{Failure: &eventlog.Failure{Class: eventlog.Transient}}}
	for name, tt := range map[string]struct {
		event projections.TopicEvent
		want  waits
	}{
		"neither": {projections.TopicEvent{MessageID: "a"}, waits{}},
		"hidden":  {projections.TopicEvent{MessageID: "a", ScheduledAt: 5}, waits{scheduledAt: 5, id: "a"}},
		"tried":   {projections.TopicEvent{MessageID: "a", FailedAt: 7}, waits{failedAt: 7, id: "a"}},
		"backs off": {projections.TopicEvent{MessageID: "a", ScheduledAt: 5, FailedAt: 7, Attempts: transient},
			waits{5, 7, true, "a"}},
	} {
		mark := appendWaits(nil, &tt.event)
		if got, err := decodeWaits(mark); err != nil || got != tt.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		for cut := 1; cut <= len(mark)-len("a"); cut++ {
			if _, err := decodeWaits(mark[:cut]); !errors.Is(err, ErrDamaged) {
				t.Errorf("%s, %d bytes of its mark: %v", name, cut, err)
			}
		}
	}
}
