package underway

import (
	"testing"
	"time"
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
