package explain

import (
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// TestTurns: a call that waits for its turn at its target has not been sent, and the bound that makes it wait is named.
func TestTurns(t *testing.T) {
	t.Parallel()
	const later = eventlog.Instant(1_700_000_060_000_000)
	s := new(projections.State).Hydrate(&projections.Workflow{Name: "shop", Head: eventlog.Head{Revision: 7}},
		&projections.Mutation{ID: "M1", Run: "R1", Key: "K1", Status: eventlog.MutationStatusInFlight, Deadline: later,
			Call: eventlog.MutationCall{Connector: "http", Operation: "post"}})
	until := time.Date(2023, 11, 14, 22, 14, 0, 0, time.UTC)
	wait := func(key, target, bound string, until time.Time) connector.Waiting {
		return connector.Waiting{Workflow: "shop", Key: key, Target: target, Bound: bound, Until: until,
			Setting: "connectors.http.hosts"}
	}
	for name, c := range map[string]struct {
		calls      []connector.Waiting
		says, none []string
	}{
		"none": {nil, []string{"has left and its answer is awaited"}, []string{"turn"}},
		"its own": {[]connector.Waiting{wait("K1", "api.example.com", "at most 10/s", until)},
			[]string{"Mutation M1 (http.post) has not been sent", "api.example.com (at most 10/s, connectors.http.hosts)",
				"the next turn is at 2023-11-14T22:14:00Z", "does not come by 2023-11-14T22:14:20Z"},
			[]string{"has left and"}},
		"others": {[]connector.Waiting{
			wait("", "a.example", "at most 10/s", until.Add(time.Second)), wait("K2", "a.example", "at most 10/s", until),
			wait("K3", "b.example", "at most 2 calls at once", time.Time{})},
			[]string{"2 calls of it wait for their turn at a.example (at most 10/s, connectors.http.hosts); the next turn is " +
				"at 2023-11-14T22:14:00Z.", "1 call of it waits for its turn at b.example (at most 2 calls at once, "}, nil},
	} {
		w := Workflow(s, decide.AwaitCall{Mutation: "M1"}, decide.Present{}, Beside{})
		w.Turns(s, c.calls)
		for _, text := range c.says {
			if !strings.Contains(w.Message, text) {
				t.Errorf("%s: %q is missing in: %s", name, text, w.Message)
			}
		}
		for _, text := range c.none {
			if strings.Contains(w.Message, text) {
				t.Errorf("%s: %q is in: %s", name, text, w.Message)
			}
		}
	}
}
