package worker

import (
	"math"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/cputime"
	"github.com/pawl-run/pawl/sandbox/vm"
	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

// againWithoutRace runs a test once more without the race detector, where there is one, and says whether it did.
func againWithoutRace(t *testing.T) bool {
	t.Helper()
	if !confine.Race {
		return false
	}
	again := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-v", "-run", "^"+t.Name()+"$", ".")
	out, err := again.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("%v\n%s", err, out)
	}
	return true
}

var garbage string

// Garbage never counts against a script, also where the machine has no time for a look of the watchdog: a script that
// holds little and makes much garbage ends in its own limit, or well.
func TestGarbageIsNoMemory(t *testing.T) {
	if againWithoutRace(t) { // which holds memory of its own
		return
	}
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	defer debug.SetMemoryLimit(math.MaxInt64)
	debug.FreeOSMemory()
	held := make([]byte, 24<<20) // as a worker holds with its compiler and a few scripts
	limit := 4 * newWatchdog(math.MaxInt64/100, func() {}).Measure().Held
	w := newWatchdog(limit, func() {}) // which never looks
	for range 1000 {
		garbage = strings.Repeat("x", 1<<20)
		if now := w.Measure().Held; now > limit {
			t.Fatalf("%d MiB are held, of which a quarter is in use", now>>20)
		}
	}
	held[0] = 1
}

// A process in which much is in use gets room for garbage beside it: it would collect without end to hold no more than
// idleShare. It loses that room once little is in use.
func TestMuchInUseGetsRoomForGarbage(t *testing.T) {
	if againWithoutRace(t) { // which sets no limit
		return
	}
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	defer debug.SetMemoryLimit(math.MaxInt64)
	const limit = 384 << 20
	w := newWatchdog(limit, func() {}) // which never looks
	room := func() int64 {
		runtime.GC()
		w.adapt(w.Measure())
		return debug.SetMemoryLimit(-1) * 100 / limit
	}
	if got := room(); got < idleShare-1 || got > idleShare {
		t.Errorf("a process that does little holds %d %%", got)
	}
	held := make([]byte, limit*idleShare/100*2/3)
	if got := room(); got < tightShare-1 || got > tightShare {
		t.Errorf("a process in which much is in use holds %d %%", got)
	}
	held[0] = 1
	held = nil
	if got := room(); got < idleShare-1 || got > idleShare {
		t.Errorf("a process in which much was in use holds %d %%", got)
	}
}

// What the call before had in use does not count against a script, though no garbage was collected since.
func TestMemoryOfTheCallBeforeIsNotInUse(t *testing.T) {
	if againWithoutRace(t) { // which holds memory of its own
		return
	}
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	defer debug.SetMemoryLimit(math.MaxInt64)
	w := newWatchdog(math.MaxInt64/100, func() {}) // which never looks
	held := make([]byte, 64<<20)
	runtime.GC()
	w.limit = 64 << 20
	if w.collected = 0; !w.full(w.Measure()) {
		t.Fatal("what is in use is not seen")
	}
	held[0] = 1
	held = nil
	w.collected = w.Measure().Collected
	if w.full(w.Measure()) {
		t.Error("what the call before had in use counts")
	}
}

// What was collected is counted anew for each call: a collection of the call before says nothing of this one.
func TestCollectionsAreCountedForEachCall(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	defer debug.SetMemoryLimit(math.MaxInt64)
	looked := make(chan struct{})
	w := newWatchdog(math.MaxInt64/100, func() {
		select {
		case looked <- struct{}{}:
		default: // a later look at the same call
		}
	})
	collected := func() uint64 {
		w.start()
		<-looked
		w.Stop()
		return w.collected
	}
	first := collected()
	runtime.GC()
	second := collected()
	if second <= first {
		t.Errorf("%d collections before the second call, and %d before the first", second, first)
	}
	w.start()
	<-looked
	runtime.GC()
	w.next() // a mutate after prepare is watched as a call by itself
	<-looked
	w.Stop()
	if third := w.collected; third <= second {
		t.Errorf("%d collections before the mutate, and %d before the call of its prepare", third, second)
	}
}

// The watchdog looks no more once an answer leaves: it would end the process for the job that is answered in the next
// one, which would then seem to need too much memory.
func TestTheWatchdogEndsBeforeTheAnswer(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	defer debug.SetMemoryLimit(math.MaxInt64)
	var looks, answers, late atomic.Int64
	answered := writer(func() {
		answers.Add(1)
		before := looks.Load()
		for end := time.Now().Add(50 * time.Millisecond); looks.Load() == before && time.Now().Before(end); {
			runtime.Gosched()
		}
		late.Store(looks.Load() - before)
	})
	w := &worker{out: answered, pack: newPacker(), around: vm.Surroundings{Closing: t.Context(),
		Scripts: vm.NewScripts(1), CPU: cputime.Own()}}
	w.watchdog = newWatchdog(math.MaxInt64/100, func() { looks.Add(1) })
	w.run(&job{serial: 1, source: sandbox.Source{Filename: "w.ts", Code: "export default Pawl.workflow({})"}})
	if answers.Load() != 1 || late.Load() > 0 {
		t.Errorf("%d answers; while one was sent the watchdog looked %d times", answers.Load(), late.Load())
	}
}

// writer is called for each write, and takes it all.
type writer func()

func (w writer) Write(p []byte) (int, error) {
	w()
	return len(p), nil
}
