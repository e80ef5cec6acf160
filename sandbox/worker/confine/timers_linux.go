package confine

import (
	"os"
	"strconv"
	"time"
)

// timerSlack is by how much the timers of a worker may be late. The Go runtime has a thread that looks at the others,
// up to every 20 microseconds while there are calls. In a worker it finds nothing to do, since one goroutine does
// nearly all the work, but each time it interrupts another thread. With this slack it looks about every millisecond.
// Limits are far longer.
const timerSlack = time.Millisecond

// relaxTimers lets the timers of this process's threads be late by timerSlack; threads that begin later have it from
// the thread that begins them. Where the system refuses that, the process is only slower.
func relaxTimers() {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	slack := []byte(strconv.FormatInt(timerSlack.Nanoseconds(), 10))
	for _, thread := range threads {
		_ = os.WriteFile("/proc/"+thread.Name()+"/timerslack_ns", slack, 0)
	}
}
