package engine

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/engine/schedule"
)

var (
	// resending are the pauses between two attempts to append the same entry.
	resending = schedule.Transient{Base: 50 * time.Millisecond, Factor: 2, Max: time.Second}
	// storageTrouble are the pauses of a runner that cannot read or write what it needs.
	storageTrouble = schedule.Transient{Base: 100 * time.Millisecond, Factor: 2, Max: 30 * time.Second}
)

// retry paces attempts at what fails for reasons outside the workflow, and says when to tell of it.
type retry struct {
	pauses schedule.Transient
	tries  int    // failed ones in a row
	same   int    // failed ones in a row for the reason below
	reason string // of the last failure
}

// failed takes in one more failure. It returns how long to wait before the next attempt, and whether to
// tell: a new reason at once, the same one again after 2, 4, 8 … failures.
func (r *retry) failed(err error) (pause time.Duration, tell bool) {
	if reason := err.Error(); reason != r.reason {
		r.reason, r.same = reason, 0
	}
	r.tries++
	r.same++
	return r.pauses.Delay(r.tries, 0.5), r.same&(r.same-1) == 0
}

// succeeded ends a row of failures.
func (r *retry) succeeded() { r.tries, r.same, r.reason = 0, 0, "" }

// wait lets d of real time pass, whatever the engine's clock says: what is waited for is the machine.
func wait(ctx context.Context, d time.Duration) {
	fired, cancel := SystemClock{}.At(time.Now().Add(d))
	defer cancel()
	select {
	case <-fired:
	case <-ctx.Done():
	}
}
