package simulation_test

import (
	"flag"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/pawl-run/pawl/engine/simulation"
	"github.com/pawl-run/pawl/eventlog"
)

var (
	seed  = flag.Uint64("seed", 0, "run only this seed")
	seeds = flag.Uint64("seeds", 0, "how many seeds a test runs; 0: so many that they reach every fact and every fault")
	first = flag.Uint64("first", 1, "the first of them")
)

// simulate runs one seed in a bubble of its own.
func simulate(t *testing.T, cfg simulation.Config) (report simulation.Report, err error) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		cfg.AwaitBlocked = synctest.Wait
		report, err = simulation.Run(cfg)
	})
	return report, err
}

// TestF05_LookingAgainHurriesNoResend: a process dies while a call that it sent again may be under way. However often
// the next one looks, nothing is sent again, nor left to a person, before that is over. These histories have shown it.
func TestF05_LookingAgainHurriesNoResend(t *testing.T) {
	for _, seed := range []uint64{4864, 6034, 10259} {
		if _, err := simulate(t, simulation.Config{Seed: seed}); err != nil {
			t.Error(err)
		}
	}
}

// TestO11_TheIdOfALostEventMayComeAgain: all that told of an event is lost, and every call asks from then on. A person
// lets calls leave again, and the id comes in once more: its effect is no doubling, since a person has spoken.
func TestO11_TheIdOfALostEventMayComeAgain(t *testing.T) {
	if _, err := simulate(t, simulation.Config{Seed: 818633}); err != nil {
		t.Error(err)
	}
}

// histories runs many seeds with this focus, or the one that -seed names. It returns what all histories had, and
// whether they were many enough to have had everything: with -short a fifteenth is run.
func histories(t *testing.T, focus simulation.Focus, enough uint64) (all simulation.Report, many bool) {
	t.Helper()
	if *seed != 0 {
		report, err := simulate(t, simulation.Config{Seed: *seed, Focus: focus, Trace: func(line string) { t.Log(line) }})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("seed %d is clean: %+v", *seed, report)
		return report, false
	}
	count := *seeds
	switch {
	case count == 0 && testing.Short():
		count = enough / 15
	case count == 0:
		count = enough
	}
	var mu sync.Mutex
	t.Run("all", func(t *testing.T) {
		const shards = 4
		for shard := range uint64(shards) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for n := *first + shard; n < *first+count; n += shards {
					report, err := simulate(t, simulation.Config{Seed: n, Focus: focus})
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
	t.Logf("%d seeds: %d moves, %d transitions, %d effects", count, all.Moves, all.Transitions, all.Effects)
	return all, !t.Failed() && count >= enough
}

// TestSeeds holds every invariant through many histories; together they must reach every fact and
// every fault.
func TestSeeds(t *testing.T) {
	all, many := histories(t, simulation.Drawn, 300)
	if !many {
		return
	}
	for _, f := range eventlog.FactTypes() {
		// A restore writes a log of its own, before any engine runs on it: package ops/backup.
		if all.Seen[string(f)] == 0 && !eventlog.OfInstallation(f) && f != "log.restored" {
			t.Errorf("no history had a %s", f)
		}
	}
	for _, what := range []string{
		"crash", "freeze", "second engine", "restart", "stop", "full", "flush", "died in append", "acknowledgement lost",
		"request lost", "the log insists",
		"late effect", "retry after", "careless no", "tight", "tool gone", "tool changed", "ask grants", "ask run-now",
		"ask pause", "ask resume", "ask cancel", "ask skip", "ask bulk", "hang up", "late reply", "ask push", "ask deploy",
		"ask repair", "ask archive", "ask approve", "ask reject", "ask resolve", "ask redrive",
		"crash while busy", "open exchange", "open exchange ended", "open exchange cut", "on record as open", "resubscribe",
		"outage", "free: approve", "free: reject", "free: resolve", "free: resume", "free: redeploy", "free: repair",
		"free: redrive", "free: skip", "free: cancel",
		"left alone", "loss accepted", "end lost", "record spoilt", "records lost",
		"mutate with its prepare", "mutate with its prepare fails", "mutate with a prepare whose choice does not hold",
		"mutate with a prepare of a wrong shape",
	} {
		if all.Seen[what] == 0 {
			t.Errorf("no history had: %s", what)
		}
	}
}

// TestSeedRepeats: the same seed is the same history.
func TestSeedRepeats(t *testing.T) {
	t.Parallel()
	repeated := uint64(10)
	if testing.Short() {
		repeated = 3
	}
	for n := range repeated {
		var first []string
		if _, err := simulate(t, simulation.Config{Seed: n + 1, Trace: func(line string) {
			first = append(first, line)
		}}); err != nil {
			t.Fatal(err)
		}
		at := 0
		_, err := simulate(t, simulation.Config{Seed: n + 1, Trace: func(line string) {
			if at < len(first) && first[at] != line {
				t.Errorf("seed %d has two histories; they part at\n%s\n%s", n+1, first[at], line)
				at = len(first)
			}
			at++
		}})
		if err != nil {
			t.Fatal(err)
		}
		if at != len(first) && !t.Failed() {
			t.Errorf("seed %d has a history of %d lines and one of %d", n+1, len(first), at)
		}
	}
}

// F5: a receiver that knows a call by its key, and most of whose answers are lost: whatever dies when, a call that is
// sent again takes effect once, and no resend leaves without its record.
func TestF5_ResendsInManyHistories(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: a hundred histories take 4 s")
	}
	t.Parallel()
	sent := 0
	for n := range uint64(100) {
		report, err := simulate(t, simulation.Config{Seed: n + 1, Focus: simulation.Resends})
		if err != nil {
			t.Fatal(err)
		}
		sent += report.Seen["resend"]
	}
	if sent < 40 {
		t.Errorf("%d calls were sent again, which says little", sent)
	}
}
