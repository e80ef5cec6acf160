package worker

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// Exit codes of a worker process that ends itself.
const (
	exitMemory   = 86
	exitNoEngine = 87
)

// lookEvery is how often a watchdog looks while a script runs. Calls that are shorter cost nothing.
const lookEvery = 2 * time.Millisecond

// How much garbage may lie beside what is in use, in percent of that. A call leaves little, so
// collecting it costs more than keeping it for a while; a script that fills the memory must not
// reach its limit with garbage.
const (
	lavishGC  = 400
	thriftyGC = 100
)

// watchdog ends its process when a script has made it hold more memory than allowed: nothing inside
// an interpreter can be relied on to stop by then.
type watchdog struct {
	limit int64
	// normal is what is held between calls without a reason to tidy.
	normal int64
	// long is told, at each look, that a script takes long.
	long func()

	mu      sync.Mutex
	thrifty bool
	timer   *time.Timer
	active  bool
	samples []metrics.Sample
}

func newWatchdog(limit int64, long func()) *watchdog {
	w := &watchdog{limit: limit, normal: limit / 2, long: long, samples: []metrics.Sample{
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
	}}
	w.timer = time.AfterFunc(time.Hour, w.look)
	w.timer.Stop()
	debug.SetGCPercent(lavishGC)
	return w
}

// held is the memory that the Go runtime holds, also what it has reserved and not yet touched.
func (w *watchdog) held() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.measure()
}

func (w *watchdog) measure() int64 {
	metrics.Read(w.samples)
	return int64(w.samples[0].Value.Uint64()) - int64(w.samples[1].Value.Uint64())
}

func (w *watchdog) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.active = true
	w.timer.Reset(lookEvery)
}

func (w *watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.active = false
	w.timer.Stop()
	if w.thrifty {
		w.thrifty = false
		debug.SetGCPercent(lavishGC)
	}
}

func (w *watchdog) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.active {
		return
	}
	held := w.measure()
	if held > w.limit {
		os.Exit(exitMemory)
	}
	if !w.thrifty && held > w.limit/4 {
		w.thrifty = true
		debug.SetGCPercent(thriftyGC)
	}
	w.timer.Reset(lookEvery)
	w.long()
}

// tidy gives memory back after a call that used much of it, so that the next call does not start
// near the limit for what this one left behind.
func (w *watchdog) tidy() {
	if w.held() > w.normal {
		debug.FreeOSMemory()
	}
}
