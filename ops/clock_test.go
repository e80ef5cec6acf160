package ops

import (
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/enginetest"
)

// manualClock lets the engine follow a clock that only advanceClock moves.
func manualClock(start time.Time) setting {
	clock := clock.NewManual(start)
	return func(c *Config, b *enginetest.Harness) { c.Now, b.Config.Clock = clock.Now, clock }
}

// Moving a clock that follows the machine, and moves that no clock can make, are refused.
func TestClockIsRefused(t *testing.T) {
	t.Parallel()
	if p := setup(t).refused("advanceClock", map[string]any{"by": "5m"}); p.Status != 409 || p.Code != "clock.system" ||
		p.Hint == "" {
		t.Errorf("the machine's clock: %+v", p)
	}
	b := setup(t, manualClock(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)))
	for _, by := range []string{"-5m", "5", "soon", ""} {
		if p := b.refused("advanceClock", map[string]any{"by": by}); p.Status != 422 || p.Code != "clock.invalid" ||
			p.Hint == "" {
			t.Errorf("by %q: %+v", by, p)
		}
	}
}
