package store

import (
	"fmt"
	"maps"
	"testing"

	"github.com/pawl-run/pawl/projections/foldtest"
)

// dump is all that the database holds, but the count of commits.
func dump(t *testing.T, s *Store) map[string]string {
	t.Helper()
	rows := map[string]string{}
	for space := range byte(255) {
		if space == spaceCount {
			continue
		}
		err := s.scan(s.db, []byte{space}, func(key, value []byte) error {
			rows[string(key)] = string(value)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

// What is forgotten of a partition is all of it, and nothing of another.
func TestForget(t *testing.T) {
	t.Parallel()
	s := open(t, Config{InMemory: true})
	log := foldtest.NewLog(6)
	commit(t, s, whole(grow(t, log, "w", 300)))
	before := dump(t, s)
	for i, h := range []*foldtest.History{grow(t, log, "w2", 300), foldtest.NewConcurrentHistory(log, "wx")} {
		for i == 1 && h.State.Head.Revision < 300 {
			if _, err := h.Step(); err != nil {
				t.Fatal(err)
			}
		}
		b := whole(h)
		b.Partition = 1
		b.Stops = []Stop{{Workflow: "stopped", Seq: 7, Reason: fmt.Sprint("reason ", i)}}
		commit(t, s, b)
		if len(dump(t, s)) == len(before) {
			t.Fatal("the second partition has no rows")
		}
		if err := s.Forget(1); err != nil {
			t.Fatal(err)
		}
		if after := dump(t, s); !maps.Equal(after, before) {
			for key := range after {
				if _, ok := before[key]; !ok {
					t.Errorf("%q was not forgotten", key)
				}
			}
			for key := range before {
				if _, ok := after[key]; !ok {
					t.Errorf("%q of the other partition was forgotten", key)
				}
			}
		}
		commit(t, s, b) // as new, with all its index entries
		if state, err := s.Load(h.State.Name); err != nil || state.Head != h.State.Head {
			t.Errorf("after it was forgotten: head %+v, %v", state.Head, err)
		}
		if err := s.Forget(1); err != nil {
			t.Fatal(err)
		}
	}
}
