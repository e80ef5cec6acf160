package eventlog_test

import (
	"testing"
	"time"

	"github.com/pawl-run/pawl/eventlog"
)

// C12: a rate is a whole number of runs per unit, and never lets more begin than it says.
func TestC12_Rate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"": 0, "1/s": time.Second, "10/s": 100 * time.Millisecond, "3/s": 333_334 * time.Microsecond,
		"300/m": 200 * time.Millisecond, "5/h": 12 * time.Minute, "1000000/s": time.Microsecond,
	} {
		rate, err := eventlog.ParseRate(text)
		if err != nil || rate.Spacing() != want {
			t.Errorf("%q: %s, %v; want %s", text, rate.Spacing(), err, want)
		}
		if n := time.Duration(rate.Runs) * rate.Spacing(); n < rate.Per {
			t.Errorf("%q lets %d runs begin in %s", text, rate.Runs, n)
		}
		if got := (eventlog.Consumer{Rate: text}).Spacing(); got != want {
			t.Errorf("a consumer of %q: %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"10", "/s", "0/s", "-1/s", "1.5/s", "+1/s", "01/s", "10/d", "10/S", "1/s/s", "1000001/s",
		" 1/s"} {
		if rate, err := eventlog.ParseRate(text); err == nil {
			t.Errorf("%q is read as %+v", text, rate)
		}
	}
}
