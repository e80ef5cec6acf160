package decide_test

import (
	"slices"
	"testing"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// No command leads to an orphan (bench.check), so this one is made by hand: a reservation that
// neither the current run nor a pending retry holds.
func TestStartup_OrphansAreShown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, line := range []string{"deploy", "push a b", "prepare a b", "mutate none", "next fail transient"} {
		if err := b.command(line); err != nil {
			t.Fatal(err)
		}
	}
	if orphans := decide.Orphans(b.state); len(orphans) != 0 {
		t.Fatalf("a pending retry holds its events, yet %v are orphans", orphans)
	}
	d := projections.NewDraft(b.state, eventlog.Transition{Workflow: workflow, At: b.now}, b.seq+1)
	for _, f := range []eventlog.Fact{
		&eventlog.EventReleased{Topic: "in", MessageID: "b", Run: "R1"},
		&eventlog.RetryCleared{Run: "R1"},
	} {
		if err := d.Add(f); err != nil {
			t.Fatal(err)
		}
	}
	want := []eventlog.EventRef{{Topic: "in", MessageID: "a"}}
	if got := decide.Orphans(d.State()); !slices.Equal(got, want) {
		t.Errorf("orphans %v, want %v", got, want)
	}
}
