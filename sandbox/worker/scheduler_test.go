package worker

import (
	"slices"
	"strconv"
	"testing"
	"time"
)

// queue puts waiters into a scheduler and answers in which order they are served, each done at once.
func queue(l *scheduler, now time.Time, keys ...string) (served []string) {
	for _, key := range keys {
		l.join(&waiter{key: key, since: now})
	}
	for {
		w := l.pick(now, always, always)
		if w == nil {
			return served
		}
		l.assign(w, now)
		l.returnSlot(w.key, 0, now)
		l.returnProcess(w.key, 0, now)
		served = append(served, w.key)
	}
}

func always(*waiter) bool { return true }

// TestHeavyWorkflowsWait behind those that use little, and among themselves by what they used.
func TestHeavyWorkflowsWait(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	l := newScheduler(2, 16)
	burn := func(key string, d time.Duration) {
		l.assign(&waiter{key: key, process: true}, now)
		l.returnSlot(key, d, now)
	}
	burn("burner", 5*time.Second)
	burn("smaller", time.Second)
	for range 1000 {
		burn("busy", 10*time.Millisecond) // many short calls are no reason to wait
	}
	if got := queue(l, now, "burner", "a", "smaller", "busy", "b"); !slices.Equal(got,
		[]string{"a", "busy", "b", "smaller", "burner"}) {
		t.Errorf("served %v", got)
	}
	later := now.Add(10 * halfLife)
	if got := queue(l, later, "burner", "a"); !slices.Equal(got, []string{"burner", "a"}) {
		t.Errorf("later served %v", got)
	}
	if len(l.usages) > 2 {
		t.Errorf("remembers %d workflows", len(l.usages))
	}
}

// TestOneSlotIsKept: a heavy workflow leaves the last slot to others until it has waited long, one that is not proven
// short leaves its last one too, and no call waits for ever.
func TestOneSlotIsKept(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	l := newScheduler(2, 16)
	take := func(key string) { l.assign(&waiter{key: key, process: true}, now) }
	for _, key := range []string{"x", "y"} {
		take(key)
		l.returnSlot(key, 5*time.Second, now)
	}
	take("x")
	if l.admits(l.usage("y", now), 0) {
		t.Error("a second heavy workflow got the last slot")
	}
	if !l.admits(l.usage("y", now), longestHeavyWait) {
		t.Error("a heavy workflow waits for ever")
	}
	if !l.admits(l.usage("light", now), 0) {
		t.Error("a light workflow did not get the last slot")
	}
	l.returnSlot("x", 0, now)
	take("light")
	if l.admits(l.usage("light", now), 0) {
		t.Error("one workflow got more than its share")
	}
	one := newScheduler(1, 8)
	one.usage("x", now).used = time.Hour
	if !one.admits(one.usage("x", now), 0) {
		t.Error("the only slot is kept from the only workflow")
	}
}

// TestProcessesAreKept: of the processes that calls hold while they wait for reads, slow workflows
// together leave as many to others as may compute at once, and so does any one workflow.
func TestProcessesAreKept(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	const slots, processes = 3, 8
	hold := func(l *scheduler, key string) bool {
		w := &waiter{key: key}
		spared := l.mayHold(l.usage(key, now), func() int { return l.heldBySlow(now) })
		if spared {
			l.assign(w, now)
			l.returnSlot(key, 0, now)
		}
		return spared
	}
	name := func(key string, i int) string { return key + strconv.Itoa(i) }

	l := newScheduler(slots, processes)
	for i := range processes {
		l.usage(name("slow", i), now).waited = time.Minute
		if got, want := hold(l, name("slow", i)), i < processes-slots; got != want {
			t.Errorf("slow workflow %d may hold a process: %t", i, got)
		}
	}
	for i := range slots {
		if !hold(l, name("swift", i)) {
			t.Errorf("no process is left for workflow %d that never waits", i)
		}
	}
	l.returnProcess("slow0", time.Minute, now)
	if !hold(l, name("slow", 7)) {
		t.Error("a process that was given back is kept from the next slow workflow")
	}
	now = now.Add(20 * slowHalfLife)
	if !hold(l, name("slow", 6)) {
		t.Error("a slow workflow is slow for ever")
	}

	l = newScheduler(slots, processes)
	for i := range processes {
		if got, want := hold(l, "many calls"), i < processes-slots; got != want {
			t.Errorf("call %d of one workflow may hold a process: %t", i, got)
		}
	}
	for range processes - slots {
		l.returnProcess("many calls", brief, now) // which says nothing against it
	}
	if len(l.usages) != 0 {
		t.Errorf("remembers %+v", l.usages["many calls"])
	}
	if one := newScheduler(1, 1); !hold(one, "only") {
		t.Error("the only process is kept from the only workflow")
	}
}
