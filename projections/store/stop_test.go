package store_test

import (
	"reflect"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections/store"
)

// What the checkpoint goes on without is kept with it, by partition and name, until it is covered again.
func TestStops(t *testing.T) {
	s, err := store.Open(store.Config{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	commit := func(partition int, stops []store.Stop, resumed ...eventlog.WorkflowName) {
		t.Helper()
		b := store.Batch{Partition: partition, Checkpoint: store.Checkpoint{Seq: 9}, Stops: stops, Resumed: resumed}
		if err := s.Commit(b); err != nil {
			t.Fatal(err)
		}
	}
	want := func(partition int, stops ...store.Stop) {
		t.Helper()
		got, err := s.Stops(partition)
		if err != nil || !reflect.DeepEqual(got, stops) {
			t.Errorf("partition %d: %+v, %v; want %+v", partition, got, err, stops)
		}
	}
	a := store.Stop{Workflow: "a", Seq: 3, Reason: "it cannot be read"}
	b := store.Stop{Workflow: "b", Seq: 4, Reason: "it cannot be folded"}
	again := store.Stop{Workflow: "a", Seq: 7, Reason: "another one cannot be read"}
	want(0)
	commit(0, []store.Stop{b, a})
	commit(1, []store.Stop{b})
	want(0, a, b)
	want(1, b)
	commit(0, []store.Stop{again})
	commit(0, nil, "b", "not there")
	want(0, again)
	want(1, b)
	if err := s.Reset(); err != nil {
		t.Fatal(err)
	}
	want(0)
}
