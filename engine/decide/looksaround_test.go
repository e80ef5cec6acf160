package decide_test

import (
	"testing"

	"github.com/pawl-run/pawl/engine/decide"
)

// A run only looks around if it began with the last thing that happened and no handler has work in sight:
// whatever else is due must not wait for it.
func TestS3_LooksAround(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		lines []string
		want  bool
	}{
		{"the first run of a deploy finds nothing", []string{"deploy"}, true},
		{"the run after a commit with reservations finds nothing", []string{"deploy", "prepare +next", "push a", "prepare a",
			"mutate none", "next"}, true},
		{"a run that was started for an event", []string{"deploy", "prepare +next", "push a"}, false},
		{"an event is left over", []string{"deploy", "prepare +next", "push a", "push b", "prepare a", "mutate none", "next"},
			false},
		{"an event has come since", []string{"deploy", "push a"}, false},
		{"another consumer's event is left over", []string{"deploy c:in d:out", "prepare +next", "prepare +next", "push a",
			"push x topic=out", "prepare a", "mutate none", "next"}, false},
		{"anything has happened since: an event without a subscriber", []string{"deploy", "push a topic=free"}, false},
		{"anything has happened since: a pause", []string{"deploy", "pause"}, false},
		{"anything has happened since: new grants", []string{"deploy", "grant m.*=deny"}, false},
		{"an event that waits for its retry is no work yet", []string{"deploy max=1", "prepare +next", "push a", "prepare a",
			"mutate fail logic", "push b", "prepare b", "mutate none", "next"}, true},
		{"an event whose retry is due", []string{"deploy max=1", "prepare +next", "push a", "prepare a", "mutate fail logic",
			"push b", "prepare b", "mutate none", "next", "after 1h"}, false},
		{"wakeAt has come", []string{"deploy", "prepare wake=30s +next", "after 30s", "tick"}, false},
		{"wakeAt lies ahead", []string{"deploy", "prepare +next", "push a", "prepare a wake=1h", "mutate none", "next"},
			true},
		{"a producer's time has come", []string{"deploy c:in p", "prepare +next", "produce", "push a", "prepare a",
			"mutate none", "after 5m", "next"}, false},
		{"a producer's time lies ahead", []string{"deploy c:in p", "prepare +next", "produce", "push a", "prepare a",
			"mutate none", "next"}, true},
		{"the run is past its look", []string{"deploy", "push a", "prepare a"}, false},
		{"a retry run owes next", []string{"deploy", "prepare +next", "push a", "prepare a", "mutate call", "settle applied",
			"next fail transient", "after 1h", "tick"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			for _, line := range c.lines {
				if err := b.command(line); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
			}
			run := b.state.CurrentRun()
			if run == nil {
				t.Fatal("no run is active")
			}
			if got := decide.LooksAround(b.state, run, b.now); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
