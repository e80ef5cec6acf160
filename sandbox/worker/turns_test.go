package worker

import (
	"slices"
	"strconv"
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

// TestScriptsAtHandGoFirst: of the workflows whose turn is soon, one whose script is at hand goes before those whose
// script would have to be compiled. These keep their order, and a heavy one waits behind them.
func TestScriptsAtHandGoFirst(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	l := newScheduler(2, 16)
	l.usage("heavy", now).used = time.Minute
	near := func(w *waiter) bool { return w.script == 1 }
	for _, w := range []*waiter{{key: "a"}, {key: "heavy", script: 1}, {key: "b"}, {key: "c", script: 1}, {key: "d"}} {
		w.since = now
		l.join(w)
	}
	var served []string
	for w := l.pick(now, always, near); w != nil; w = l.pick(now, always, near) {
		served = append(served, w.key)
	}
	if want := []string{"c", "a", "b", "d", "heavy"}; !slices.Equal(served, want) {
		t.Errorf("served %v, want %v", served, want)
	}
	if l.turns.Len() != 0 || len(l.lines) != 0 {
		t.Errorf("%d turns of %d lines are left", l.turns.Len(), len(l.lines))
	}
}

// TestNoTurnIsLost: a workflow whose script is never at hand is passed by no more often than there are workflows that
// wait, and one behind too many others does not go before them.
func TestNoTurnIsLost(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	l := newScheduler(2, 16)
	near := func(w *waiter) bool { return w.script == 1 }
	const others, calls = 5, 3
	for range calls {
		l.join(&waiter{key: "far", since: now})
	}
	for i := range others {
		l.join(&waiter{key: strconv.Itoa(i), script: 1, since: now})
	}
	for i := range calls {
		passed := 0
		for w := l.pick(now, always, near); w.key != "far"; w = l.pick(now, always, near) {
			passed++
			l.join(w) // its next call
		}
		// Each of the others has its turn before the next turn of that workflow, and once more as its script is at hand.
		if want := (others + 1) + min(i, 1)*others; passed != want {
			t.Errorf("%d calls went before call %d, want %d", passed, i, want)
		}
	}
	l = newScheduler(2, 16)
	for i := range 1 + lookAhead {
		l.join(&waiter{key: strconv.Itoa(i), since: now})
	}
	l.join(&waiter{key: "behind", script: 1, since: now})
	if w := l.pick(now, always, near); w.key != "0" {
		t.Errorf("%s goes first", w.key)
	}
}

// TestOverdueIsNotPassed: a heavy workflow that has waited for as long as one may wait goes next, wherever its script
// is.
func TestOverdueIsNotPassed(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	l := newScheduler(2, 16)
	l.usage("heavy", now).used = time.Hour
	l.join(&waiter{key: "heavy", since: now.Add(-longestHeavyWait)})
	l.join(&waiter{key: "light", script: 1, since: now})
	if w := l.pick(now, always, func(w *waiter) bool { return w.script == 1 }); w.key != "heavy" {
		t.Errorf("%s goes first", w.key)
	}
}
