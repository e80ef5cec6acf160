package engine

import (
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// outer is embedded under another name than its own method has.
type outer interface{ Connectors }

// endings is a world of which only the end of its calls matters.
type endings struct {
	outer
	ending connector.Ending
}

func (e endings) Ending(connector.Call) connector.Ending { return e.ending }

// For how long something of a call may be under way: an own one by its exchange, one of another process
// by its deadline (F5).
func TestF5_UnderWay(t *testing.T) {
	t.Parallel()
	const timeout, quiet = 30 * time.Second, 5 * time.Second
	attached, detached := connector.Ending{Quiet: quiet}, connector.Ending{Quiet: quiet, Detached: true}
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		ending   connector.Ending
		own      bool          // sent by this process
		ended    time.Duration // after its begin; 0: its exchange is open
		answered bool
		first    time.Duration // when another process's record was first seen
		attempts int
		now      time.Duration
		want     time.Duration
	}{
		"open":                                 {attached, true, 0, false, 0, 0, 3 * time.Hour, openEnd},
		"answered":                             {attached, true, 2 * time.Second, true, 0, 0, 2 * time.Second, 0},
		"ended without an answer":              {attached, true, 2 * time.Second, false, 0, 0, 4 * time.Second, 3 * time.Second},
		"ended long after its deadline":        {attached, true, 5 * time.Minute, false, 0, 0, 5*time.Minute + time.Second, 4 * time.Second},
		"ended, and quiet since":               {attached, true, 2 * time.Second, false, 0, 0, 7 * time.Second, 0},
		"ended where nobody goes on":           {connector.Ending{}, true, 2 * time.Second, false, 0, 0, 2 * time.Second, 0},
		"handed over":                          {detached, true, 0, false, 0, 0, 31 * time.Second, 4 * time.Second},
		"handed over, the line broke":          {detached, true, time.Second, false, 0, 0, 31 * time.Second, 4 * time.Second},
		"handed over and answered":             {detached, true, time.Second, true, 0, 0, time.Second, 0},
		"handed over, and quiet since":         {detached, true, 0, false, 0, 0, 35 * time.Second, 0},
		"another's, seen at once":              {attached, false, 0, false, 0, 0, 31 * time.Second, 5 * time.Second},
		"another's, seen later":                {attached, false, 0, false, 25 * time.Second, 0, 36 * time.Second, 25 * time.Second},
		"another's, long over":                 {attached, false, 0, false, time.Hour, 0, time.Hour + 36*time.Second, 0},
		"another's, which was found over":      {attached, false, 0, false, time.Hour, 1, time.Hour, 0},
		"another's, handed over":               {detached, false, 0, false, 0, 0, 31 * time.Second, 5 * time.Second},
		"another's, with nobody who goes on":   {connector.Ending{}, false, 0, false, 0, 0, 30 * time.Second, time.Second},
		"another's, its clock is far behind":   {attached, false, 0, false, -time.Hour, 0, 0, 36 * time.Second},
		"another's, its clock is far in front": {attached, false, 0, false, time.Hour, 0, time.Hour, 36 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := NewManualClock(begun.Add(min(c.first, 0)))
			w := &worker{engine: &Engine{cfg: Config{Clock: clock, Connectors: endings{ending: c.ending}}}}
			m := &projections.Mutation{ID: "R1", ReconcileAttempts: c.attempts, Deadline: eventlog.At(begun.Add(timeout)), Call: eventlog.MutationCall{TimeoutMS: timeout.Milliseconds()}}
			at := func(d time.Duration) { clock.Resume(begun.Add(d)) }
			if c.own {
				w.sightings.begins(m.ID, w.engine.moment(), &projections.State{})
				if c.ended > 0 {
					at(c.ended)
					w.sightings.ends(m.ID, w.engine.moment(), c.answered)
				}
			} else {
				at(c.first)
				w.underWay(m)
			}
			at(c.now)
			if got := w.underWay(m); got != c.want {
				t.Errorf("under way for another %s, want %s", got, c.want)
			}
		})
	}
}

// The later of two clocks counts: one of them may have been set, or have stood still.
func TestF5_BothClocksMustSayThatItIsOver(t *testing.T) {
	t.Parallel()
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	first := moment{begun, time.Hour}
	for name, c := range map[string]struct {
		clock, elapsed, want time.Duration // since then
	}{
		"together":               {10 * time.Second, 10 * time.Second, 20 * time.Second},
		"the clock was set on":   {time.Hour, 10 * time.Second, 20 * time.Second},
		"the clock was set back": {-time.Hour, 10 * time.Second, time.Hour + 30*time.Second},
		"suspended":              {10 * time.Second, time.Hour, 20 * time.Second},
		"over":                   {30 * time.Second, 30 * time.Second, 0},
	} {
		now := moment{begun.Add(c.clock), first.elapsed + c.elapsed}
		if got := first.until(now, begun.Add(30*time.Second), 30*time.Second); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	system := Engine{cfg: Config{Clock: SystemClock{}}}
	a := system.moment()
	if b := system.moment(); b.elapsed < a.elapsed || a.elapsed <= 0 {
		t.Errorf("the clock that nobody sets went from %s to %s", a.elapsed, b.elapsed)
	}
}
