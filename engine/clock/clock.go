package clock

import (
	"context"
	"time"
)

// Clock is where time comes from: schedules, backoffs, deadlines.
type Clock interface {
	Now() time.Time
	// At returns a channel that is closed at t, or soon after, and a function that gives it up.
	At(t time.Time) (<-chan struct{}, func())
}

// System is the machine's clock.
type System struct{}

// Now returns the wall-clock time.
func (System) Now() time.Time { return time.Now() }

// At uses a runtime timer.
func (System) At(t time.Time) (<-chan struct{}, func()) {
	fired := make(chan struct{})
	timer := time.AfterFunc(time.Until(t), func() { close(fired) })
	return fired, func() { timer.Stop() }
}

// Sleep lets d of real time pass, and reports false when ctx ends first. It is for waits for the machine itself, which
// no clock that is set by hand may shorten.
func Sleep(ctx context.Context, d time.Duration) bool {
	fired, cancel := System{}.At(time.Now().Add(d))
	defer cancel()
	select {
	case <-fired:
		return true
	case <-ctx.Done():
		return false
	}
}
