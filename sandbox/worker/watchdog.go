package worker

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

// exitNoEngine is the exit code of a worker process whose engine is gone.
const exitNoEngine = 87

// How much garbage may lie beside what is in use, in percent of that. A call leaves little, so
// collecting it costs more than keeping it for a while; a script that fills the memory must not
// reach its limit with garbage.
const (
	lavishGC  = 500
	thriftyGC = 100
)

// Parts of the memory of a process, in percent.
const (
	// idleShare is what a process holds while half of that is enough for what is in use: it collects garbage as often
	// as it must to hold no more. It is less than normalShare, so that garbage alone is never given back to the
	// operating system: to give memory back and to take it again costs more than many calls.
	idleShare = 33
	// tightShare takes the place of idleShare where more is in use. The runtime sees to both by itself: on a busy
	// machine the watchdog may look too late to make it collect, and would take garbage for what a script holds.
	tightShare = 75
	// normalShare is how much a process may hold between calls: it gives more than that back.
	normalShare = 50
	// fullShare is how much a script may have in use: garbage needs room too. With more, a process would collect
	// without end to stay below tightShare, and the script would seem to compute for long where it needs too much.
	fullShare = 50
)

// watchdog ends its process when a script has made it hold more memory than allowed, or has too much of it in use. It
// collects garbage more often while a script holds much.
type watchdog struct {
	*confine.Watch
	limit int64
	// normal is normalShare in bytes.
	normal int64
	// room is what may be mapped between calls: with more, the operating system might refuse the next call memory that
	// is its due.
	room int64
	// long is told, at each look, that a script takes long.
	long func()
	// thrifty belongs to the look while the watch looks, else to the goroutine that starts and stops it.
	thrifty bool
	// collected is how often garbage was collected before the first look at the call. It is not read when the call
	// begins: most calls end before a look, and need not pay for it.
	collected uint64
	looked    bool // at this call
}

func newWatchdog(limit int64, long func()) *watchdog {
	w := &watchdog{limit: limit, normal: limit * normalShare / 100, room: math.MaxInt64, long: long}
	w.Watch = confine.NewWatch(limit, w.look)
	w.collect(lavishGC, idleShare)
	return w
}

// collect sets when garbage is collected: at so many percent of what is in use, and as often as it must be once the
// process holds that share of its memory.
func (w *watchdog) collect(percent int, share int64) {
	debug.SetGCPercent(percent)
	if !confine.Race {
		debug.SetMemoryLimit(w.limit * share / 100)
	}
}

// start watches a call that begins.
func (w *watchdog) start() {
	w.looked = false
	w.Start()
}

// next watches the next handler of the same call. It does not count what the one before has left.
func (w *watchdog) next() {
	w.Stop()
	if w.looked {
		w.freeMemory()
	}
	w.start()
}

func (w *watchdog) look(m confine.Memory) {
	if !w.looked {
		w.looked, w.collected = true, m.Collected
	}
	if !w.thrifty {
		w.adapt(m)
	}
	if m.Held > w.normal && w.full(m) {
		os.Exit(confine.ExitMemory)
	}
	w.long()
}

// adapt collects garbage more often where much is in use, be it of a script or of all that are compiled, and less often
// where it is not.
func (w *watchdog) adapt(m confine.Memory) {
	most := w.limit * idleShare / 100 / 2
	thrifty := m.Held > most && m.InUse > most
	switch {
	case thrifty == w.thrifty:
	case thrifty:
		w.collect(thriftyGC, tightShare)
	default:
		w.collect(lavishGC, idleShare)
	}
	w.thrifty = thrifty
}

// full reports whether the script uses too much of the memory. What was in use when garbage was last collected may
// belong to the call before this one. Garbage is therefore collected now, unless a collection has begun since the
// first look at this call: of those that have ended since then, the first may have begun before the call.
func (w *watchdog) full(m confine.Memory) bool {
	most := w.limit * fullShare / 100
	if m.InUse > most && m.Collected < w.collected+2 {
		runtime.GC()
		m = w.Measure()
	}
	return m.InUse > most
}

// bound tells the watchdog what the operating system lets the process map, in bytes. The largest piece that a script
// may need at once (fullShare) must still find a place beside all that is mapped, which may be in pieces, and so must
// what the runtime needs for itself.
func (w *watchdog) bound(data int64) {
	const runtimeNeeds = 16 << 20
	w.room = data - w.limit*fullShare/100 - runtimeNeeds
}

// freeMemory gives memory back after a call that used much of it, so that the next call does not start
// near a limit for what this one left behind. It reports whether that failed.
func (w *watchdog) freeMemory() (failed bool) {
	m := w.Measure()
	if m.Held > w.normal {
		debug.FreeOSMemory()
		m = w.Measure()
	}
	w.adapt(m)
	return m.Held > w.normal || m.Mapped > w.room
}
