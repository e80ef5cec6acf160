package readmodel

import (
	"testing"

	"github.com/pawl-run/pawl/eventlog"
)

// A page is bounded by all that its items show: the events of a run, and those that a mutation shows of its run.
func TestBulkCountsEvents(t *testing.T) {
	t.Parallel()
	events := []RunEvent{{MessageID: "one", Title: "first"}, {MessageID: "two", Title: "second"}}
	for name, item := range map[string]large{
		"run": Run{Events: events}, "mutation": Mutation{Events: events},
	} {
		if got, want := item.bulk(), len("one"+"first"+"two"+"second"); got != want {
			t.Errorf("a %s: %d bytes, want %d", name, got, want)
		}
	}
}

// A bulk command acts on all that fit, so a short text finds no id that Pawl has made: it is in many by chance.
func TestAShortTextFindsNoMadeID(t *testing.T) {
	t.Parallel()
	const id = eventlog.MutationID("01M8M8RV9P1QWA4S787J5K3XK5")
	for q, found := range map[string]bool{"": false, "5": false, "01m8m8rv9": false, "01m8m8rv9p": true,
		"01m8m8rv9p1qwa4s787j5k3xk5": true} {
		if got := searchableID(id, q); (got == string(id)) != found || !found && got != "" {
			t.Errorf("%q: %q", q, got)
		}
	}
}
