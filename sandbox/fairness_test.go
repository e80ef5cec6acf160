package sandbox

import (
	"slices"
	"testing"
	"time"
)

// queue puts waiters into a ledger and answers in which order they are served, each done at once.
func queue(l *ledger, now time.Time, keys ...string) (served []string) {
	for _, key := range keys {
		l.waiters = append(l.waiters, &waiter{key: key, since: now})
	}
	for {
		w := l.pick(now, func(*waiter) bool { return true })
		if w == nil {
			return served
		}
		l.take(w.key, now)
		l.give(w.key, 0, now)
		served = append(served, w.key)
	}
}

// TestHeavyWorkflowsWait behind those that use little, and among themselves by what they used.
func TestHeavyWorkflowsWait(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	l := newLedger(2)
	burn := func(key string, d time.Duration) { l.take(key, now); l.give(key, d, now) }
	burn("burner", 5*time.Second)
	burn("smaller", time.Second)
	for range 1000 {
		burn("busy", 10*time.Millisecond) // many short calls are no reason to wait
	}
	if got := queue(l, now, "burner", "a", "smaller", "busy", "b"); !slices.Equal(got, []string{"a", "busy", "b", "smaller", "burner"}) {
		t.Errorf("served %v", got)
	}
	later := now.Add(10 * halfLife)
	if got := queue(l, later, "burner", "a"); !slices.Equal(got, []string{"burner", "a"}) {
		t.Errorf("later served %v", got)
	}
	if len(l.accounts) > 2 {
		t.Errorf("remembers %d workflows", len(l.accounts))
	}
}

// TestOnePlaceIsKept: heavy workflows never hold all places, one workflow never more than its share,
// and nobody waits for ever.
func TestOnePlaceIsKept(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	l := newLedger(2)
	for _, key := range []string{"x", "y"} {
		l.take(key, now)
		l.give(key, 5*time.Second, now)
	}
	l.take("x", now)
	if l.admits(l.account("y", now), 0) {
		t.Error("a second heavy workflow got the last place")
	}
	if !l.admits(l.account("y", now), patience) {
		t.Error("a heavy workflow waits for ever")
	}
	if !l.admits(l.account("light", now), 0) {
		t.Error("a light workflow did not get the last place")
	}
	l.give("x", 0, now)
	l.take("light", now)
	if l.admits(l.account("light", now), 0) {
		t.Error("one workflow got more than its share")
	}
	one := newLedger(1)
	one.account("x", now).used = time.Hour
	if !one.admits(one.account("x", now), 0) {
		t.Error("the only place is kept from the only workflow")
	}
}
