package decide_test

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
)

func TestParsePrepared(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, raw string
		refused   string // part of the message
		reserves  string
		wake      string
		warnings  int
	}{
		{name: "R9 duplicates are folded",
			raw: `{"reservations":[{"topic":"in","ids":["a","b","a"]},{"topic":"in","ids":["b"]}]}`, reserves: "in/a in/b"},
		{name: "R3 no ids count as empty", raw: `{"reservations":[{"topic":"in","ids":[]}],"data":{}}`},
		{name: "R3 no reservations at all", raw: `{"reservations":[]}`},
		{name: "R19 missing reservations", raw: `{"reservation":[{"topic":"in","ids":["a"]}]}`,
			refused: "reservations is missing"},
		{name: "R19 null reservations", raw: `{"reservations":null}`, refused: "reservations is missing"},
		{name: "R19 an empty object", raw: `{}`, refused: "write reservations: []"},
		{name: "undefined", raw: ``, refused: "it returned nothing"},
		{name: "null", raw: `null`, refused: "it returned null"},
		{name: "a list", raw: `[]`, refused: "it returned []"},
		{name: "ids that are no strings", raw: `{"reservations":[{"topic":"in","ids":[7]}]}`,
			refused: "reservations.ids is a JSON number"},
		{name: "reservations that are no list", raw: `{"reservations":"in/a"}`, refused: "reservations is a JSON string"},
		{name: "S4 a time", raw: `{"reservations":[],"wakeAt":"2026-01-01T10:00:00.500Z"}`, wake: "2026-01-01T10:00:00.5Z"},
		{name: "S4 a time with an offset", raw: `{"reservations":[],"wakeAt":"2026-01-01T10:00:00+02:00"}`,
			wake: "2026-01-01T08:00:00Z"},
		{name: "S4 null is absent", raw: `{"reservations":[],"wakeAt":null}`},
		{name: "S4 no time is ignored with a warning", raw: `{"reservations":[],"wakeAt":"tomorrow"}`, warnings: 1},
		{name: "S4 a day", raw: `{"reservations":[],"wakeAt":"2026-01-01"}`, wake: "2026-01-01T00:00:00Z"},
		{name: "S4 milliseconds are ignored with a warning", raw: `{"reservations":[],"wakeAt":1767261600500}`, warnings: 1},
		{name: "S4 seconds from now are ignored with a warning", raw: `{"reservations":[],"wakeAt":60}`, warnings: 1},
		{name: "S4 a number in a string is no time", raw: `{"reservations":[],"wakeAt":"1767261600500"}`, warnings: 1},
		{name: "S4 neither text nor number", raw: `{"reservations":[],"wakeAt":true}`, warnings: 1},
		{name: "S4 before all time", raw: `{"reservations":[],"wakeAt":"0001-01-01T00:00:00Z"}`, warnings: 1},
		{name: "J5 a reason without end is cut with a warning",
			raw:      `{"reservations":[],"cancel":[{"topic":"in","ids":["a"],"reason":"` + strings.Repeat("r", 2000) + `"}]}`,
			warnings: 1},
		{name: "a title that is none", raw: `{"reservations":[],"ui":{"title":7}}`, warnings: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, bad := decide.ParsePrepared([]byte(tt.raw))
			if tt.refused != "" {
				if bad == nil || bad.Class != eventlog.Logic || !strings.Contains(bad.Message, tt.refused) {
					t.Fatalf("got %+v, want a logic failure that says %q", bad, tt.refused)
				}
				return
			}
			if bad != nil {
				t.Fatalf("refused: %v", bad)
			}
			var got []string
			for _, ref := range p.Reservations {
				got = append(got, string(ref.Topic)+"/"+string(ref.MessageID))
			}
			wake := ""
			if p.WakeAt != 0 {
				wake = p.WakeAt.String()
			}
			if strings.Join(got, " ") != tt.reserves || wake != tt.wake || len(p.Warnings) != tt.warnings {
				t.Errorf("reserves %v, wakes at %q, warnings %q; want %q, %q, %d", got, wake, p.Warnings, tt.reserves, tt.wake,
					tt.warnings)
			}
		})
	}
}

// What Next answers for a workflow that does not exist is idle, and a worker's first look at it
// writes nothing.
func TestNoWorkflow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, cmd := range []decide.Command{decide.Recover{}, decide.Tick{}} {
		if err := b.do(cmd); err != nil || !b.last.Empty() {
			t.Errorf("%T: %v, %v", cmd, b.last.Facts, err)
		}
	}
	if wait, ok := b.next().(decide.Wait); !ok || wait.Reason != decide.ReasonIdle {
		t.Errorf("got %+v", b.next())
	}
	if err := b.do(decide.Pause{}); err == nil {
		t.Error("paused a workflow that does not exist")
	}
}

// J5: an event is cancelled once, for the first reason: what is written down must not grow with how often it is named.
func TestParsePreparedFoldsCancellations(t *testing.T) {
	t.Parallel()
	p, bad := decide.ParsePrepared([]byte(`{"reservations":[],"cancel":[` +
		`{"topic":"in","ids":["a","b","a"],"reason":"old"},{"topic":"in","ids":["b"],"reason":"new"},` +
		`{"topic":"other","ids":["b"],"reason":"` + strings.Repeat("r", 2000) + `"}]}`))
	if bad != nil {
		t.Fatalf("refused: %v", bad)
	}
	var got []string
	for _, c := range p.Cancel {
		got = append(got, string(c.Topic)+"/"+string(c.MessageID)+" "+c.Reason)
	}
	if len(got) != 3 || got[0] != "in/a old" || got[1] != "in/b old" || len(p.Cancel[2].Reason) > 1000 {
		t.Errorf("cancels %.400q", got)
	}
}
