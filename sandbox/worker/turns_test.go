package worker

import (
	"slices"
	"testing"
	"time"
)

// A workflow with hundreds of runs at once keeps no other waiting: they take turns.
func TestWorkflowsTakeTurns(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	var calls []string
	for range 256 {
		calls = append(calls, "crowd")
	}
	calls = append(calls, "canary", "other", "canary")
	served := queue(newScheduler(2, 16), now, calls...)
	if got := served[:5]; !slices.Equal(got, []string{"crowd", "canary", "other", "crowd", "canary"}) {
		t.Errorf("served first: %v", got)
	}
	if len(served) != len(calls) {
		t.Errorf("%d of %d were served", len(served), len(calls))
	}
}

// A workflow whose calls have been short for a while may have all slots; one long call takes that away.
func TestABriskWorkflowMayHaveAllSlots(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	s := newScheduler(2, 16)
	call := func(used time.Duration) {
		s.assign(&waiter{key: "x", process: true}, now)
		s.returnSlot("x", used, now)
	}
	s.assign(&waiter{key: "x", process: true}, now)
	for range provenShort {
		if s.admits(s.usage("x", now), 0) {
			t.Fatal("it got the last slot too early")
		}
		call(short)
	}
	if !s.admits(s.usage("x", now), 0) {
		t.Error("it did not get the last slot")
	}
	call(short + time.Millisecond)
	if s.admits(s.usage("x", now), 0) {
		t.Error("it got the last slot after a long call")
	}
}
