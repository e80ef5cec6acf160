package readmodel

import "testing"

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
