package explain

import (
	"slices"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
)

// An id comes from outside: a command about an event with an id like a flag is still about that event.
func TestCommandsOfAnyID(t *testing.T) {
	t.Parallel()
	for id, want := range map[eventlog.MessageID][]string{
		"-1001": {"pawl redrive shop in -- -1001", "pawl redrive shop in --including-unknown -- -1001"},
		"--where=state=available": {"pawl redrive shop in -- --where=state=available",
			"pawl redrive shop in --including-unknown -- --where=state=available"},
		"-- -x": {"pawl redrive shop in -- '-- -x'", "pawl redrive shop in --including-unknown -- '-- -x'"},
		"it's":  {`pawl redrive shop in 'it'\''s'`, `pawl redrive shop in 'it'\''s' --including-unknown`},
		"a-1":   {"pawl redrive shop in a-1", "pawl redrive shop in a-1 --including-unknown"},
	} {
		got := []string{eventCommand("redrive", "shop", "in", id),
			eventCommand("redrive", "shop", "in", id, "--including-unknown")}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", id, got, want)
		}
	}
}
