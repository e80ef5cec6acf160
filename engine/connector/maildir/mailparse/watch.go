package mailparse

import (
	"os"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

// Exit codes of a process that ends itself.
const (
	exitMemory = 86
	exitTime   = 88
)

// lookEvery is how often a watch looks while a mail is taken apart. Mails that are shorter cost nothing.
const lookEvery = 2 * time.Millisecond

// raceFactor is how much more memory and time the race detector takes.
const raceFactor = 10

// watch ends its process when a mail has made it hold more memory, or work longer, than allowed: nothing
// inside a library can be relied on to stop by then.
type watch struct {
	mu      sync.Mutex
	active  bool
	timer   *time.Timer
	began   time.Duration // processor time
	allowed time.Duration
	memory  int64
	samples []metrics.Sample
}

func newWatch() *watch {
	w := &watch{memory: MaxMemory, samples: []metrics.Sample{
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
	}}
	if confine.Race {
		w.memory *= raceFactor
	}
	w.timer = time.AfterFunc(time.Hour, w.look)
	w.timer.Stop()
	return w
}

// start allows so much processor time from now on.
func (w *watch) start(allowed time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if confine.Race {
		allowed *= raceFactor
	}
	w.active, w.began, w.allowed = true, processorTime(), allowed
	w.timer.Reset(lookEvery)
}

func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.active = false
	w.timer.Stop()
}

// held is the memory that the Go runtime holds, also what it has reserved and not yet touched.
func (w *watch) held() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.measure()
}

func (w *watch) measure() int64 {
	metrics.Read(w.samples)
	return int64(w.samples[0].Value.Uint64()) - int64(w.samples[1].Value.Uint64())
}

func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case !w.active:
		return
	case w.measure() > w.memory:
		os.Exit(exitMemory)
	case processorTime()-w.began > w.allowed:
		os.Exit(exitTime)
	}
	w.timer.Reset(lookEvery)
}

var began = time.Now()

// sinceStart is how long this process has run.
func sinceStart() time.Duration { return time.Since(began) }
