package main

import (
	"encoding/json"
	"testing"
)

// A measurement has figures for each number of items in flight, for one workflow, and for one whose calls are slow.
func TestBench(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it takes as long as its stages")
	}
	figures := measured(t, "--seconds=0.2", "--in-flight=1,2", "--one-workflow=3")
	for _, name := range []string{"items_per_s_c1", "items_per_s_c2", "items_per_s_one_workflow", "items_per_s_slow_c3",
		"p50_ms_one_workflow", "cpu_ms_per_item_one_workflow", "disk_bytes_per_item"} {
		if figures[name] <= 0 {
			t.Errorf("%s is %v", name, figures[name])
		}
	}
	// Three calls of 200 ms at once are 15 a second at most, and one after the other would be 5.
	if got := figures["items_per_s_slow_c3"]; got > 15 || figures["p50_ms_slow_c3"] < 200 {
		t.Errorf("slow calls: %v a second, %v ms each", got, figures["p50_ms_slow_c3"])
	}
}

// With the feed, another process follows it. A rate bounds what is pushed.
func TestBenchOfTheFeed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it takes as long as its stages")
	}
	figures := measured(t, "--seconds=0.5", "--in-flight=4", "--one-workflow=0", "--feed", "--rate=20")
	for _, name := range []string{"items_per_s_c4", "facts_per_item_c4", "feed_p50_ms_c4", "feed_p99_ms_c4",
		"feed_most_ms_c4"} {
		if figures[name] <= 0 {
			t.Errorf("%s is %v", name, figures[name])
		}
	}
	if got := figures["items_per_s_c4"]; got > 30 {
		t.Errorf("%v items a second, want 20 and a few", got)
	}
}

// measured are the figures of a measurement.
func measured(t *testing.T, flags ...string) (figures map[string]float64) {
	t.Helper()
	out, err := command(t, t.TempDir(), "pawl", append([]string{"bench", "--json"}, flags...)...).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := json.Unmarshal(out, &figures); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return figures
}
