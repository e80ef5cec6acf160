package subscription

import "testing"

// What an engine does first is delivered, although it is killed before it has delivered anything: where the
// subscription begins is stored before the engine works. An engine that starts later does not move it.
func TestFirstFactsOfAKilledEngine(t *testing.T) {
	t.Parallel()
	s := newSite(t, 100)
	s.publish("w", "run.started") // before there was a subscription
	killed := s.engine()
	if err := killed.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := s.publish("w", "run.failed")
	next, _ := s.start()
	if err := next.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := s.publish("w", "run.committed")
	s.receives(second)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.got) != 2 || s.got[0].ID != first {
		t.Errorf("delivered %+v, want %s and %s", s.got, first, second)
	}
}

// Two engines that start at the same time agree on where a new subscription begins: the sooner one decides.
func TestTheSoonerEngineDecidesTheBeginning(t *testing.T) {
	t.Parallel()
	s := newSite(t, 100)
	d := s.engine()
	store, err := openPositions(t.Context(), d.cfg, d.js)
	if err != nil {
		t.Fatal(err)
	}
	for _, next := range []uint64{7, 9} { // both have found none
		if at, err := store.create(t.Context(), "all", position{Next: next}); err != nil || at.Next != 7 {
			t.Errorf("begins at %d: %v", at.Next, err)
		}
	}
}
