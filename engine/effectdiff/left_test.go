package effectdiff

import (
	"fmt"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
)

// TestNotCompared: what no recorded run says anything of is named.
func TestNotCompared(t *testing.T) {
	t.Parallel()
	send := eventlog.Consumer{Name: "send", HasMutate: true, HasNext: true}
	tell := eventlog.Consumer{Name: "tell", HasMutate: true}
	many := make([]eventlog.Producer, 12)
	for i := range many {
		many[i].Name = eventlog.Handler(fmt.Sprintf("p%d", i))
	}
	for name, c := range map[string]struct {
		def     eventlog.Definition
		effects []Effect
		want    string
	}{
		"all compared": {eventlog.Definition{Consumers: []eventlog.Consumer{tell}}, []Effect{{Handler: "tell"}}, ""},
		"next": {eventlog.Definition{Consumers: []eventlog.Consumer{send, tell}},
			[]Effect{{Handler: "send", NextUnknown: true}, {Handler: "send"}, {Handler: "tell"}}, "Not compared: what next " +
				"does after a call whose answer is not known: send (1 of 2 runs). Try them with pawl test"},
		"next is compared": {eventlog.Definition{Consumers: []eventlog.Consumer{send}}, []Effect{{Handler: "send"}}, ""},
		"no recorded run": {eventlog.Definition{Consumers: []eventlog.Consumer{send, tell}}, []Effect{{Handler: "tell"}},
			"Not compared: consumers without a recorded run (send). Try them with pawl test"},
		"producers": {eventlog.Definition{Producers: many}, nil, "Not compared: producers without a recorded run " +
			"(p0, p1, p2, p3, p4, p5, p6, p7, p8, p9 and 2 more). Try them with pawl test"},
	} {
		if got := NotCompared(&c.def, c.effects); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
