package simulation_test

import (
	"sync"
	"testing"

	"github.com/pawl-run/pawl/engine/simulation"
)

// Engines share the partitions by leases through many histories: they stand still, are cut off, follow late, and their
// clocks are set.
func TestSharingSeeds(t *testing.T) {
	if *seed != 0 {
		report, err := simulate(t, simulation.Config{Seed: *seed, Focus: simulation.Sharing,
			Trace: func(line string) { t.Log(line) }})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("seed %d is clean: %+v", *seed, report)
		return
	}
	var mu sync.Mutex
	var all simulation.Report
	t.Run("all", func(t *testing.T) {
		const shards = 4
		for shard := range uint64(shards) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for n := *first + shard; n < *first+*seeds; n += shards {
					report, err := simulate(t, simulation.Config{Seed: n, Focus: simulation.Sharing})
					if err != nil {
						t.Fatal(err)
					}
					mu.Lock()
					all.Merge(report)
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("%d seeds: %d moves, %d transitions, %d effects, %v", *seeds, all.Moves, all.Transitions, all.Effects, all.Seen)
}
