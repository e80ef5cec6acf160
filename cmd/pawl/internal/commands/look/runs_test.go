package look

import (
	"testing"

	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// TestF2_AnEndedRunAwaitsNothing: a run that failed for want of a right has the status of one that awaits approval. The
// list shows its class, and leaves the others as they are.
func TestF2_AnEndedRunAwaitsNothing(t *testing.T) {
	class := map[string]any{"class": "auth"}
	for _, c := range []struct {
		run  map[string]any
		want string
	}{
		{map[string]any{"status": "paused:approval", "endedAt": "2026-11-23T08:00:00Z", "error": class}, "failed:auth"},
		{map[string]any{"status": "paused:approval", "endedAt": nil, "error": nil}, "paused:approval"},
		{map[string]any{"status": "paused:transient", "endedAt": "2026-11-23T08:00:00Z", "error": class}, "paused:transient"},
	} {
		nameFailures(term.Page{Items: []map[string]any{c.run}})
		if c.run["status"] != c.want {
			t.Errorf("it is shown as %v, want %s", c.run["status"], c.want)
		}
	}
}
