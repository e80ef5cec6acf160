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
	out, err := command(t, t.TempDir(), "pawl", "bench", "--seconds=0.2", "--in-flight=1,2", "--one-workflow=3",
		"--json").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var figures map[string]float64
	if err := json.Unmarshal(out, &figures); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
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
