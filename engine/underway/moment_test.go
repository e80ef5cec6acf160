package underway

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// The later of two clocks counts: one of them may have been set, or have stood still.
func TestF5_BothClocksMustSayThatItIsOver(t *testing.T) {
	t.Parallel()
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	first := Moment{begun, time.Hour}
	for name, c := range map[string]struct {
		clock, elapsed, want time.Duration // since then
	}{
		"together":               {10 * time.Second, 10 * time.Second, 20 * time.Second},
		"the clock was set on":   {time.Hour, 10 * time.Second, 20 * time.Second},
		"the clock was set back": {-time.Hour, 10 * time.Second, time.Hour + 30*time.Second},
		"suspended":              {10 * time.Second, time.Hour, 20 * time.Second},
		"over":                   {30 * time.Second, 30 * time.Second, 0},
	} {
		now := Moment{begun.Add(c.clock), first.Elapsed + c.elapsed}
		if got := first.Until(now, begun.Add(30*time.Second), 30*time.Second); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	a := At(begun)
	if b := At(begun); b.Elapsed < a.Elapsed || a.Elapsed <= 0 {
		t.Errorf("the clock that cannot be set went from %s to %s", a.Elapsed, b.Elapsed)
	}
}

// How old a call is, is what the longer clock says, from its first request on, however often it was sent again.
func TestF5_ACallIsAsOldAsTheLongerClockSays(t *testing.T) {
	t.Parallel()
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var seen Calls
	m := &projections.Mutation{ID: "M1", Deadline: eventlog.At(begun.Add(time.Minute))}
	seen.Begin(m, Moment{begun.Add(time.Second), time.Hour}, &projections.State{})
	m.Deadline = eventlog.At(begun.Add(time.Hour)) // it is sent again
	for name, c := range map[string]struct{ clock, elapsed, want time.Duration }{
		"together":               {time.Hour, time.Hour, time.Hour + time.Second},
		"the clock was set on":   {48 * time.Hour, time.Hour, 48*time.Hour + time.Second},
		"the clock was set back": {-48 * time.Hour, time.Hour, time.Hour + time.Second},
	} {
		now := Moment{begun.Add(c.clock + time.Second), time.Hour + c.elapsed}
		if got := seen.See(m, now).Age(begun, now); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	late := &projections.Mutation{ID: "M2"}
	if got := seen.See(late, Moment{begun.Add(time.Hour), 0}).Age(begun, Moment{begun, time.Minute}); got !=
		time.Hour+time.Minute {
		t.Errorf("another's call that is an hour old when it is first seen: %s", got)
	}
}

// Settled calls are forgotten, so that the known calls do not grow in number.
func TestSettledCallsAreForgotten(t *testing.T) {
	t.Parallel()
	var seen Calls
	for i := range 1000 {
		id := eventlog.MutationID(fmt.Sprint(i))
		seen.Begin(&projections.Mutation{ID: id}, Moment{}, &projections.State{})
		if open := seen.Open(); !slices.Contains(open, id) || len(open) > 20 {
			t.Fatalf("after %d calls these are known as open: %v", i+1, open)
		}
	}
}
