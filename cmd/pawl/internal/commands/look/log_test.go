package look

import "testing"

// A person with the engine's name is told apart from the engine.
func TestLogShowsTheKindOfAllButTheEngine(t *testing.T) {
	for actor, want := range map[string]string{
		`{"kind":"system","name":"pawl"}`:         "pawl",
		`{"kind":"user","name":"pawl"}`:           "pawl (user)",
		`{"kind":"api","name":"anonymous"}`:       "anonymous (api)",
		`{"kind":"user","name":"pawl\t(system)"}`: "pawl (system) (user)",
	} {
		cells, err := logCells([]byte(`{"partition":0,"seq":3,"revision":2,"workflow":"w","kind":"workflow.paused",` +
			`"at":"2026-10-26T08:00:00Z","actor":` + actor + `,"events":[{"type":"workflow.paused"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if len(cells) != 5 || cells[3] != want {
			t.Errorf("%s: %q, want %q in the fourth field", actor, cells, want)
		}
	}
}
