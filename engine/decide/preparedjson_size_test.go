package decide_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
)

// TestParsePrepared_TheEndOfTheRunFits: what a prepare reserves and cancels is written down once more when the run
// ends, with more bytes for each event (J2). A run whose end is too large for a transition could never end.
func TestParsePrepared_TheEndOfTheRunFits(t *testing.T) {
	t.Parallel()
	const most, run = 4 << 20, eventlog.RunID("01ARZ3NDEKTSV4RRFFQ69G5FAV")
	for name, c := range map[string]struct{ id, reason int }{
		"short ids": {6, 0}, "long ids": {512, 0}, "reasons to cancel": {6, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := func(n int) json.RawMessage {
				ids := make([]eventlog.MessageID, n)
				for i := range ids {
					ids[i] = eventlog.MessageID(fmt.Sprintf("%06d", i))
					if c.id > 6 {
						ids[i] += eventlog.MessageID(strings.Repeat("x", c.id-6))
					}
				}
				topics := []map[string]any{{"topic": strings.Repeat("t", 64), "ids": ids,
					"reason": strings.Repeat("r", c.reason)}}
				raw, err := json.Marshal(map[string]any{"reservations": topics, "cancel": topics[:min(c.reason, 1)]})
				if err != nil {
					t.Fatal(err)
				}
				return raw
			}
			for n := 500; n < 40_000; n += n / 2 {
				p, bad := decide.ParsePrepared(result(n))
				if bad != nil {
					if bad.Code != "limit.result" || bad.Class != eventlog.Logic {
						t.Errorf("%+v", bad)
					}
					if n == 500 {
						t.Error("500 events are refused")
					}
					return
				}
				end := eventlog.Transition{Workflow: "w", Kind: "run.failed"}
				for _, r := range p.Reservations {
					end.Facts = append(end.Facts, &eventlog.EventRetryScheduled{Topic: r.Topic, MessageID: r.MessageID, Run: run,
						At: 1 << 60, Uncounted: true, Attention: true})
				}
				for _, x := range p.Cancel {
					end.Facts = append(end.Facts, &eventlog.EventSkipped{Topic: x.Topic, MessageID: x.MessageID, Run: run,
						Reason: x.Reason})
				}
				if stored, err := eventlog.Encode(end); err != nil || len(stored) > most {
					t.Fatalf("%d events are accepted, and the end of their run takes %d bytes: %v", n, len(stored), err)
				}
			}
			t.Error("any number is accepted")
		})
	}
}
