package worker

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/sandbox"
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

// TestLoadedScripts: a script's text goes to a worker once, and the one that was used least recently makes room.
func TestLoadedScripts(t *testing.T) {
	t.Parallel()
	small, large := sandbox.Source{Code: "1"}, sandbox.Source{Code: strings.Repeat("x", maxLoadedBytes)}
	l := newLoaded()
	for id := range uint64(maxLoaded) {
		if _, ref := l.use(id, &small); ref.source == nil || len(ref.forget) != 0 {
			t.Fatalf("script %d: %+v", id, ref)
		}
	}
	first, ref := l.use(0, &small)
	if ref.source != nil || first.id != 0 {
		t.Errorf("a script that is there: %+v", ref)
	}
	if _, ref := l.use(maxLoaded, &small); !slices.Equal(ref.forget, []uint64{1}) {
		t.Errorf("%v made room", ref.forget)
	}
	if l.has(1) || !l.has(0) {
		t.Errorf("it has 1: %t, 0: %t", l.has(1), l.has(0))
	}
	if _, ref := l.use(1000, &large); len(ref.forget) != maxLoaded || l.size != maxLoadedBytes || !l.has(1000) {
		t.Errorf("%d made room for a large one, it holds %d bytes", len(ref.forget), l.size)
	}
}

// TestOnePlaceIsKept: heavy workflows never hold all places, one workflow never more than its share,
// and no call waits for ever.
func TestOnePlaceIsKept(t *testing.T) {
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
		t.Error("a second heavy workflow got the last place")
	}
	if !l.admits(l.usage("y", now), longestHeavyWait) {
		t.Error("a heavy workflow waits for ever")
	}
	if !l.admits(l.usage("light", now), 0) {
		t.Error("a light workflow did not get the last place")
	}
	l.returnSlot("x", 0, now)
	take("light")
	if l.admits(l.usage("light", now), 0) {
		t.Error("one workflow got more than its share")
	}
	one := newScheduler(1, 8)
	one.usage("x", now).used = time.Hour
	if !one.admits(one.usage("x", now), 0) {
		t.Error("the only place is kept from the only workflow")
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
		spared := l.mayHold(l.usage(key, now), now)
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

// TestNear: a script is at hand where an idle process has it, and where it must be compiled in any case.
func TestNear(t *testing.T) {
	t.Parallel()
	source := sandbox.Source{Code: "1"}
	with := func(ids ...uint64) *process {
		w := &process{loaded: newLoaded()}
		for _, id := range ids {
			w.loaded.use(id, &source)
		}
		return w
	}
	busy, idle := with(1, 2), with(2, 3)
	p := &Pool{all: []*process{busy, idle}, idle: []*process{idle}}
	for id, want := range []bool{1: false, 2: true, 3: true, 4: true} {
		if id > 0 && p.near(&waiter{script: uint64(id)}) != want {
			t.Errorf("script %d is near: %t", id, !want)
		}
	}
	if !p.near(&waiter{script: 1, process: true}) {
		t.Error("a call that has its process is not near")
	}
}
