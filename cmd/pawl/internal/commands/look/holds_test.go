package look

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
)

// A list of workflows hides nothing that keeps one from moving: what its facts say, all of it, and what
// it waits for by itself.
func TestWorkflowListShowsWhatHolds(t *testing.T) {
	soon := eventlog.At(time.Date(2026, 10, 26, 8, 0, 0, 0, time.Local))
	waits := func(reason decide.Reason, until eventlog.Instant) explain.Why {
		return explain.Why{Reason: &reason, Until: until}
	}
	since := term.Moment("2026-10-26T08:00:00Z")
	for _, test := range []struct {
		name, workflow string
		why            explain.Why
		held, because  string
	}{
		{"nothing", `{"userPaused": false, "blocked": null, "maintenance": false, "repair": null}`,
			waits(decide.ReasonIdle, 0), "", ""},
		{"a schedule holds nothing", `{}`, waits(decide.ReasonScheduled, soon), "", ""},
		{"a run under way holds nothing", `{}`, explain.Why{Moving: true}, "", ""},
		{"a pause", `{"userPaused": true}`, waits(decide.ReasonUserPause, 0), "userPause", "paused by a person"},
		{"a block", `{"blocked": {"reason": "auth", "message": "wrong password"}}`, waits(decide.ReasonBlocked, 0), "auth",
			"wrong password"},
		{"a pause before a block", `{"userPaused": true, "blocked": {"reason": "auth", "message": "wrong password"}}`,
			waits(decide.ReasonUserPause, 0),
			"userPause, auth", "paused by a person; wrong password"},
		{"a repair that is owed", `{"maintenance": true, "repair": {"attempt": 1, "requestedAt": "2026-10-26T08:00:00Z"}}`,
			waits(decide.ReasonMaintenance, 0),
			"maintenance", "its script needs a repair since " + since},
		{"a repair that is owed behind a pause", `{"userPaused": true, "maintenance": true, "repair": null}`,
			waits(decide.ReasonUserPause, 0),
			"userPause, maintenance", "paused by a person; its script needs a repair"},
		{"a backoff", `{}`, waits(decide.ReasonBackoff, soon), "backoff", "it tries again at 2026-10-26 08:00:00"},
		{"an open call", `{}`, explain.Why{Moving: true, Until: soon}, "call",
			"the answer to its call is awaited, at the latest until 2026-10-26 08:00:00"},
		{"an outcome that is being found out",
			`{"blocked": {"reason": "reconciliation", "message": "its connector is being asked"}}`,
			waits(decide.ReasonReconcile, soon),
			"reconciliation", "its connector is being asked again at 2026-10-26 08:00:00"},
		{"a target that is tried again", `{}`, waits(decide.ReasonProbing, soon), "probing",
			"the target of a consumer is tried again at 2026-10-26 08:00:00"},
		{"outcomes that are not known", `{}`, waits(decide.ReasonUncertain, 0), "uncertain",
			"a consumer begins no run: the outcomes of three of its calls in a row are not known"},
		{"as many held as may be", `{}`, waits(decide.ReasonHeldMost, 0), "heldMost",
			"a consumer begins no run: as many of its events are held as may be"},
		{"no room", `{}`, waits(decide.ReasonStorage, soon), "storage",
			"storage cannot take its next step, or the engine is shutting down"},
		{"a log that cannot be followed", `{"blocked": null}`, waits(decide.ReasonNoWorker, 0), "noWorker",
			"out of service: its log cannot be followed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var workflow map[string]any
			if err := json.Unmarshal([]byte(test.workflow), &workflow); err != nil {
				t.Fatal(err)
			}
			held, because := heldBy(workflow, test.why)
			if got := strings.Join(held, ", "); got != test.held {
				t.Errorf("held by %q, want %q", got, test.held)
			}
			if got := strings.Join(because, "; "); got != test.because {
				t.Errorf("because %q, want %q", got, test.because)
			}
		})
	}
}
