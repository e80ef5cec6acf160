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
	also  func(Memory)

	mu     sync.Mutex
	timer  *time.Timer
	active bool

	// measuring guards samples. It is not mu, since a look holds mu while also may call Measure.
	measuring sync.Mutex
	samples   []metrics.Sample
}

// Memory is the memory of the Go runtime of this process at one moment. All but Collected are in bytes.
type Memory struct {
	// Held is what the runtime holds, also what it has reserved and not yet touched.
	Held int64
	// Mapped is what it has mapped. It never becomes less: the runtime keeps the addresses of what it gives back, and
	// they count for Config.Data.
	Mapped int64
	// InUse is what was in use when garbage was last collected, and Collected is how often it was collected.
	InUse     int64
	Collected uint64
}

// NewWatch makes a watch that does not look yet. limit is in bytes; also is called at each look that finds at most
// limit, with the memory that it has found.
func NewWatch(limit int64, also func(Memory)) *Watch {
	w := &Watch{limit: limit, also: also, samples: []metrics.Sample{
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
		{Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/total:gc-cycles"},
	}}
	w.timer = time.AfterFunc(time.Hour, w.look)
	w.timer.Stop()
	return w
}

// Measure reads the memory now. It reads all values at once, since each read of the metrics costs time.
func (w *Watch) Measure() Memory {
	w.measuring.Lock()
	defer w.measuring.Unlock()
	metrics.Read(w.samples)
	mapped := int64(w.samples[0].Value.Uint64())
	return Memory{Held: mapped - int64(w.samples[1].Value.Uint64()), Mapped: mapped,
		InUse: int64(w.samples[2].Value.Uint64()), Collected: w.samples[3].Value.Uint64()}
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
	m := w.Measure()
	if m.Held > w.limit {
		os.Exit(ExitMemory)
	}
	w.also(m)
	w.timer.Reset(lookEvery)
}
