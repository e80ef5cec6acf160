package schedule

import "time"

// Pacer paces attempts at what fails for reasons outside the workflow, and says when to log it. The zero
// value with Pauses set is ready for use.
type Pacer struct {
	Pauses Transient
	tries  int    // failed ones in a row
	same   int    // failed ones in a row for the reason below
	reason string // of the last failure
}

// Failed takes in one more failure. It returns how long to wait before the next attempt, and whether to log
// it: a new reason at once, the same one again after 2, 4, 8 … failures.
func (a *Pacer) Failed(err error) (pause time.Duration, shouldLog bool) {
	if reason := err.Error(); reason != a.reason {
		a.reason, a.same = reason, 0
	}
	a.same++
	return a.Again(), a.same&(a.same-1) == 0
}

// Again takes in an attempt that has not failed and has to be repeated all the same. It returns how long to wait
// before the next one.
func (a *Pacer) Again() (pause time.Duration) {
	a.tries++
	return a.Pauses.Delay(a.tries, 0.5)
}

// Tries is how many attempts in a row have not succeeded.
func (a *Pacer) Tries() int { return a.tries }

// Succeeded ends a row of failures.
func (a *Pacer) Succeeded() { a.tries, a.same, a.reason = 0, 0, "" }
