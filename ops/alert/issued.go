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
	// resolveAfter is how long a condition must be over before it is resolved.
	resolveAfter = time.Minute
	// repeating is how often an alert is repeated while its condition lasts.
	repeating = 24 * time.Hour
)

// issued is the last alert of one condition of one workflow, as far as the next one depends on it. The zero value means
// that there was none.
type issued struct {
	State  State            `json:"state"`
	Reason string           `json:"reason"`
	Since  eventlog.Instant `json:"since"`
	// At is the time of this alert, RaisedAt that of the last raised one.
	At       time.Time `json:"at"`
	RaisedAt time.Time `json:"raisedAt"`

	seq uint64 // of its message in the stream
	// over is when the condition was first seen to be over; zero while it holds.
	over time.Time
}

// next is the alert that is due now; "" for none. f is what was found, nil if the condition does not hold.
func (i *issued) next(f *finding, now time.Time) State {
	lasts := i.State == Raised || i.State == Repeated
	if f == nil {
		switch {
		case !lasts:
		case i.over.IsZero():
			i.over = now
		case passed(i.over, now, resolveAfter):
			return Resolved
		}
		return ""
	}
	i.over = time.Time{}
	// A condition that was resolved begins anew, even with the same reason and the same time of beginning.
	begins := !lasts || f.reason != i.Reason || f.since != i.Since
	switch {
	case begins && passed(i.RaisedAt, now, quiet):
		return Raised
	case lasts && passed(i.At, now, repeating):
		return Repeated
	}
	return ""
}

// passed reports whether at least this much time has passed. A time in the future counts as passed: the clock was set
// back, and waiting for that time could take years.
func passed(since, now time.Time, least time.Duration) bool {
	ago := now.Sub(since)
	return ago >= least || ago < 0
}
