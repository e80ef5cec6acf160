package confine

import (
	"os"
	"runtime/metrics"
	"sync"
	"time"
)

// ExitMemory is the exit code of a process that a Watch has ended for its memory.
const ExitMemory = 86

// lookEvery is how often a Watch looks. Work that is shorter costs nothing.
const lookEvery = 2 * time.Millisecond

// Watch ends its process when it holds more memory than allowed: nothing inside an interpreter or a library can be
// relied on to stop by then.
type Watch struct {
	limit int64
	also  func(held int64)

	mu      sync.Mutex
	timer   *time.Timer
	active  bool
	samples []metrics.Sample
}

// NewWatch makes a watch that does not look yet. limit is in bytes; also is called at each look that finds no more,
// with the memory held.
func NewWatch(limit int64, also func(held int64)) *Watch {
	w := &Watch{limit: limit, also: also, samples: []metrics.Sample{
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
	}}
	w.timer = time.AfterFunc(time.Hour, w.look)
	w.timer.Stop()
	return w
}

// Measure tells the memory that the Go runtime holds, also what it has reserved and not yet touched, and what it has
// mapped, both in bytes. What is mapped never becomes less: the runtime keeps the addresses of what it gives back, and
// they count for Config.Data.
func (w *Watch) Measure() (held, mapped int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.measure()
}

// Held is the memory that the Go runtime holds, bytes.
func (w *Watch) Held() int64 {
	held, _ := w.Measure()
	return held
}

func (w *Watch) measure() (held, mapped int64) {
	metrics.Read(w.samples)
	mapped = int64(w.samples[0].Value.Uint64())
	return mapped - int64(w.samples[1].Value.Uint64()), mapped
}

// Start looks from now on.
func (w *Watch) Start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.active = true
	w.timer.Reset(lookEvery)
}

// Stop looks no more; it waits for a look that is under way.
func (w *Watch) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.active = false
	w.timer.Stop()
}

func (w *Watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.active {
		return
	}
	held, _ := w.measure()
	if held > w.limit {
		os.Exit(ExitMemory)
	}
	w.also(held)
	w.timer.Reset(lookEvery)
}
