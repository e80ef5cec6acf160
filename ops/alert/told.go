package alert

import (
	"time"

	"github.com/pawl-run/pawl/eventlog"
)

// State is what an alert says of its condition.
type State string

// The states.
const (
	Raised   State = "raised"   // it has begun
	Repeated State = "repeated" // it still lasts
	Resolved State = "resolved" // it is over
)

const (
	// quiet is the least time between two raised alerts for one condition of one workflow.
	quiet = 5 * time.Minute
	// settling is how long a condition must be over before it is resolved.
	settling = time.Minute
	// repeating is how often an alert is repeated while its condition lasts.
	repeating = 24 * time.Hour
)

// told is the last alert of one condition of one workflow. The zero value means that there was none.
type told struct {
	State  State            `json:"state"`
	Reason string           `json:"reason"`
	Since  eventlog.Instant `json:"since"`
	// At is when the alert was made, RaisedAt when one was last raised.
	At       time.Time `json:"at"`
	RaisedAt time.Time `json:"raisedAt"`

	seq uint64 // of its message in the stream
	// over is when the condition was first seen to be over; zero while it holds.
	over time.Time
}

// next is the alert that is due now that f is found, or nil for nothing; "" for none.
func (t *told) next(f *finding, now time.Time) State {
	lasts := t.State == Raised || t.State == Repeated
	if f == nil {
		switch {
		case !lasts:
		case t.over.IsZero():
			t.over = now
		case passed(t.over, now, settling):
			return Resolved
		}
		return ""
	}
	t.over = time.Time{}
	// What was resolved begins anew, even with the same reason and the same beginning.
	begins := !lasts || f.reason != t.Reason || f.since != t.Since
	switch {
	case begins && passed(t.RaisedAt, now, quiet):
		return Raised
	case lasts && passed(t.At, now, repeating):
		return Repeated
	}
	return ""
}

// passed reports whether at least so much time has passed. A time that lies ahead counts as passed: a clock was set
// back, and waiting for it could take years.
func passed(since, now time.Time, least time.Duration) bool {
	ago := now.Sub(since)
	return ago >= least || ago < 0
}
