package simulation_test

import (
	"testing"

	"github.com/pawl-run/pawl/engine/simulation"
)

// Engines share the partitions by leases through many histories: they stand still, are cut off, follow late, and their
// clocks are set.
func TestSharingSeeds(t *testing.T) {
	all, many := histories(t, simulation.Sharing, 60)
	if !many {
		return
	}
	for _, what := range []string{
		"partition taken", "stood still", "kept from leaving", "clock set", "freeze", "crash", "stop", "second engine",
		"cut from the leases", "cut from the others", "cut from the log", "cut from what is new", "ask read", "ask push",
		"run.crashed", "mutation.applied", "mutation.failed", "mutation.left_indeterminate", "left alone",
		"mutate with its prepare",
	} {
		t.Logf("%s: %d", what, all.Seen[what])
		if all.Seen[what] == 0 {
			t.Errorf("no history had: %s", what)
		}
	}
}

// The same seed is the same history, also with what engines say to each other.
func TestSharingSeedRepeats(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: each history runs twice")
	}
	t.Parallel()
	for _, n := range []uint64{1, 2, 3, 4, 5, 14} { // in 14 many requests set out at once, when a cut of their way ends
		var first, second []string
		for _, lines := range []*[]string{&first, &second} {
			if _, err := simulate(t, simulation.Config{Seed: n, Focus: simulation.Sharing, Trace: func(line string) {
				*lines = append(*lines, line)
			}}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range min(len(first), len(second)) {
			if first[i] != second[i] {
				t.Fatalf("seed %d has two histories; they part at line %d\n%s\n%s", n, i, first[i], second[i])
			}
		}
		if len(first) != len(second) {
			t.Errorf("seed %d has a history of %d lines and one of %d", n, len(first), len(second))
		}
	}
}
