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

// Held is the memory that the Go runtime holds, also what it has reserved and not yet touched.
func (w *Watch) Held() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.measure()
}

// Mapped is the memory that the Go runtime holds or has held, bytes. It never becomes less, and the limit of the
// operating system is for it (Config.Data).
func (w *Watch) Mapped() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	metrics.Read(w.samples)
	return int64(w.samples[0].Value.Uint64())
}

func (w *Watch) measure() int64 {
	metrics.Read(w.samples)
	return int64(w.samples[0].Value.Uint64()) - int64(w.samples[1].Value.Uint64())
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
	held := w.measure()
	if held > w.limit {
		os.Exit(ExitMemory)
	}
	w.also(held)
	w.timer.Reset(lookEvery)
}
