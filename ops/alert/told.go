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
	// quiet is the least between two alerts that are raised for one condition of one workflow.
	quiet = 5 * time.Minute
	// settling is how long a condition must be over before that is told.
	settling = time.Minute
	// repeating is how often it is told again while it lasts.
	repeating = 24 * time.Hour
)

// told is what was told of one condition of one workflow. The zero value is nothing.
type told struct {
	State  State            `json:"state"`
	Reason string           `json:"reason"`
	Since  eventlog.Instant `json:"since"`
	// At is when it was told, RaisedAt when an alert was last raised.
	At       time.Time `json:"at"`
	RaisedAt time.Time `json:"raisedAt"`

	seq uint64 // of its message in the stream
	// over is since when it has not been so any more; zero while it is.
	over time.Time
}

// next is what is to be told now that this is found, nil for nothing; "" for nothing new.
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
	// Over and back again is a beginning too, also where the reason and the time of the workflow say the same.
	t.over = time.Time{}
	begins := !lasts || f.reason != t.Reason || f.since != t.Since
	switch {
	case begins && passed(t.RaisedAt, now, quiet):
		return Raised
	case lasts && passed(t.At, now, repeating):
		return Repeated
	}
	return ""
}

// passed reports whether so much time has passed since then. Of a time that lies ahead that is not known: a clock was
// set back, and waiting for it could take years.
func passed(since, now time.Time, least time.Duration) bool {
	ago := now.Sub(since)
	return ago >= least || ago < 0
}
