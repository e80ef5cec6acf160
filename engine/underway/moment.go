package underway

import (
	"time"

	"github.com/pawl-run/pawl/engine/clock"
)

// Moment is a time by both clocks: the clock of the log's times, which a person may set, and the clock that cannot be
// set.
type Moment struct {
	Clock   time.Time
	Elapsed time.Duration
}

// Until returns the time that is left until both clocks agree that it is over: the clock that can be set reads at, and
// wait has passed since m on the clock that cannot be set.
func (m Moment) Until(now Moment, at time.Time, wait time.Duration) time.Duration {
	return max(at.Sub(now.Clock), m.Elapsed+wait-now.Elapsed, 0)
}

// At is the moment of a clock's time that is the machine's own.
func At(now time.Time) Moment { return Moment{Clock: now, Elapsed: clock.Elapsed()} }

// AtMadeUp is the moment of a time that is made up: it has one clock.
func AtMadeUp(now time.Time) Moment {
	return Moment{Clock: now, Elapsed: time.Duration(now.UnixNano())}
}
