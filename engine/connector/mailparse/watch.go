package mailparse

import (
	"os"
	"time"

	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

// exitTime is the exit code of a process that has worked for too long.
const exitTime = 88

// raceFactor is how much more memory and time the race detector takes.
const raceFactor = 10

// watch ends its process when a mail has made it hold more memory, or work longer, than allowed.
type watch struct {
	*confine.Watch
	// memory is what it may hold; began and allowed are processor time. They are set while the watch does not look.
	memory  int64
	began   time.Duration
	allowed time.Duration
}

func newWatch() *watch {
	memory := int64(MaxMemory)
	if confine.Race {
		memory *= raceFactor
	}
	w := &watch{}
	w.Watch = confine.NewWatch(memory, w.look)
	return w
}

// allow sets what the process may take: so much memory and so much processor time from now on.
func (w *watch) allow(memory int64, allowed time.Duration) {
	if confine.Race {
		memory *= raceFactor
		allowed *= raceFactor
	}
	w.memory, w.began, w.allowed = memory, processorTime(), allowed
	w.Start()
}

func (w *watch) look(m confine.Memory) {
	if m.Held > w.memory {
		os.Exit(confine.ExitMemory)
	}
	if processorTime()-w.began > w.allowed {
		os.Exit(exitTime)
	}
}

var began = time.Now()

// sinceStart is how long this process has run.
func sinceStart() time.Duration { return time.Since(began) }
