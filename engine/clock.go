package engine

import "time"

// Clock is where time comes from: schedules, backoffs, deadlines.
type Clock interface {
	Now() time.Time
	// At returns a channel that is closed at t, or soon after, and a function that gives it up.
	At(t time.Time) (<-chan struct{}, func())
}

// SystemClock is the machine's clock.
type SystemClock struct{}

// Now returns the wall-clock time.
func (SystemClock) Now() time.Time { return time.Now() }

// At uses a runtime timer.
func (SystemClock) At(t time.Time) (<-chan struct{}, func()) {
	fired := make(chan struct{})
	timer := time.AfterFunc(time.Until(t), func() { close(fired) })
	return fired, func() { timer.Stop() }
}
