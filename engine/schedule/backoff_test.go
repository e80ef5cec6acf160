package schedule_test

import (
	"math"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/schedule"
)

func TestF8_TransientDelay(t *testing.T) {
	policy := schedule.Transient{Base: time.Second, Factor: 2, Max: 5 * time.Minute}
	tests := []struct {
		attempt int
		jitter  float64
		want    time.Duration
	}{
		{1, 0.5, time.Second},
		{1, 0, 900 * time.Millisecond},
		{1, 1, 1100 * time.Millisecond},
		{2, 0.5, 2 * time.Second},
		{4, 0.5, 8 * time.Second},
		{5, 0.5, 15 * time.Second}, // a short outage is not waited out
		{8, 0.5, 15 * time.Second},
		{9, 0, 0.9 * 18.75 * 1e9}, // a quarter of the 75 s before
		{30, 0.5, 5 * time.Minute},
		{10_000, 0, 5 * time.Minute},
		{math.MaxInt, 0.5, 5 * time.Minute},
		{0, 0.5, time.Second},
		{-1, 0.5, time.Second},
		{1, -7, 900 * time.Millisecond},
		{1, 7, 1100 * time.Millisecond},
		{1, math.NaN(), 900 * time.Millisecond},
	}
	for _, tt := range tests {
		if got := policy.Delay(tt.attempt, tt.jitter); (got - tt.want).Abs() > time.Microsecond {
			t.Errorf("Delay(%d, %v) = %s, want %s", tt.attempt, tt.jitter, got, tt.want)
		}
	}
	// Whenever a target is back, it is tried again after a third of its outage, or 16.5 s, at most.
	waited := time.Duration(0)
	for attempt := 1; attempt < 40; attempt++ {
		next := policy.Delay(attempt, 1)
		if most := max(16500*time.Millisecond, waited/3); next > most {
			t.Errorf("after %s, try %d waits for %s", waited, attempt, next)
		}
		waited += next
	}
	slow := schedule.Transient{Base: time.Minute, Factor: 2, Max: time.Hour}
	if got := slow.Delay(2, 0.5); got != time.Minute {
		t.Errorf("a base above 15 s: got %s, want the base", got)
	}
	short := schedule.Transient{Base: time.Minute, Factor: 2, Max: time.Second}
	if got := short.Delay(1, 0); got != time.Second {
		t.Errorf("a maximum below the base: got %s, want the maximum", got)
	}
}

func TestF5_ReconcileDelay(t *testing.T) {
	policy := schedule.Default().Reconcile
	for attempt, want := range map[int]time.Duration{1: 5 * time.Second, 2: 10 * time.Second, 3: 20 * time.Second,
		30: 10 * time.Minute} {
		if got := policy.Delay(attempt, 0.5); (got - want).Abs() > time.Microsecond {
			t.Errorf("Delay(%d) = %s, want %s", attempt, got, want)
		}
	}
}

func TestJ2_JobBackoff(t *testing.T) {
	longest := 5 * time.Minute
	tests := []struct {
		attempt int
		jitter  float64
		want    time.Duration
	}{
		{1, 0.5, time.Second},
		{2, 0.5, 16 * time.Second},
		{3, 0.5, 81 * time.Second},
		{3, 0, 72_900 * time.Millisecond},
		{3, 1, 89_100 * time.Millisecond},
		{4, 0.5, 256 * time.Second},
		{4, 1, 281_600 * time.Millisecond},
		{5, 0, longest},
		{math.MaxInt, 0.5, longest},
	}
	for _, tt := range tests {
		if got := schedule.JobBackoff(tt.attempt, tt.jitter, longest); (got - tt.want).Abs() > time.Microsecond {
			t.Errorf("JobBackoff(%d, %v) = %s, want %s", tt.attempt, tt.jitter, got, tt.want)
		}
	}
}
