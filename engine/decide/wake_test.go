package decide_test

import (
	"encoding/json"
	"testing"

	"github.com/pawl-run/pawl/engine/decide"
)

// Whatever number wakeAt is, it is a time or its author is told that it is none.
func TestNoNumberForWakeAtIsDroppedInSilence(t *testing.T) {
	t.Parallel()
	for _, number := range []string{"0", "-0", "0.5", "1e-300", "-1", "1", "1.9", "1e12", "253402300799999",
		"253402300800000", "1e308", "1e999"} {
		p, failure := decide.ParsePrepared(json.RawMessage(`{"reservations":[],"wakeAt":` + number + `}`))
		if failure != nil {
			t.Fatal(failure)
		}
		if told, set := len(p.Warnings) > 0, p.WakeAt != 0; told == set {
			t.Errorf("wakeAt %s is set to %v and warned of by %q", number, p.WakeAt, p.Warnings)
		}
	}
}
