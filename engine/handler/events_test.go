package handler

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// J1: the try of an event counts its reservations, and the last one that has failed says with what.
func TestJ1_ShownTries(t *testing.T) {
	t.Parallel()
	failure := &eventlog.Failure{Class: eventlog.Logic, Code: "script.threw", Message: strings.Repeat("x", 400)}
	failed := projections.Attempt{N: 1, Failure: failure}
	crashed := projections.Attempt{N: 2}
	for name, c := range map[string]struct {
		event   projections.TopicEvent
		attempt int
		failed  bool
	}{
		"new": {projections.TopicEvent{Status: eventlog.EventStatusPending}, 1, false},
		"of a run of one event": {projections.TopicEvent{Status: eventlog.EventStatusReserved, Executions: 1,
			Attempts: []projections.Attempt{{N: 1}}}, 1, false},
		"failed and crashed": {projections.TopicEvent{Status: eventlog.EventStatusPending, Executions: 2,
			Attempts: []projections.Attempt{failed, crashed}}, 3, true},
		"redriven": {projections.TopicEvent{Status: eventlog.EventStatusPending,
			Attempts: []projections.Attempt{failed}}, 1, true},
	} {
		shown := Shown(&c.event)
		if shown.Attempt != c.attempt || (shown.LastError != nil) != c.failed {
			t.Errorf("%s: attempt %d, last error %+v", name, shown.Attempt, shown.LastError)
		}
		e := shown.LastError
		if e != nil && (e.Class != "logic" || e.Code != "script.threw" || len(e.Message) > maxLastError+8) {
			t.Errorf("%s: last error %+v", name, e)
		}
	}
}
