package worker

import (
	"math"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

var garbage string

// Garbage never counts against a script, also where the machine has no time for a look of the watchdog: a script that
// holds little and makes much garbage ends in its own limit, or well.
func TestGarbageIsNoMemory(t *testing.T) {
	if confine.Race { // the detector holds memory of its own, so the test runs once more without it
		again := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run", "^"+t.Name()+"$", ".")
		if out, err := again.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	defer debug.SetMemoryLimit(math.MaxInt64)
	debug.FreeOSMemory()
	held := make([]byte, 24<<20) // as a worker holds with its compiler and a few scripts
	limit := 4 * newWatchdog(math.MaxInt64/100, func() {}).Held()
	w := newWatchdog(limit, func() {}) // which never looks
	for range 1000 {
		garbage = strings.Repeat("x", 1<<20)
		if now := w.Held(); now > limit {
			t.Fatalf("%d MiB are held, of which a quarter is in use", now>>20)
		}
	}
	held[0] = 1
}
