package engine_test

import (
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
)

// An advance stops at every moment that is due: each run happens at its own time, none is passed
// over.
func TestAdvanceStopsAtEachMoment(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	manual := clock.NewManual(start)
	b := enginetest.New(t)
	b.Config.Clock = manual
	e := b.Start()
	for _, name := range []string{"a", "b"} {
		source := `export default Keep.workflow({ name: "` + name +
			`", topics: { t: {} }, producers: { p: { interval: "5m", async handler(ctx) {} } } });`
		if _, err := e.Deploy(t.Context(), enginetest.Tester, engine.DeployRequest{Source: source, Filename: name +
			".ts"}); err != nil {
			t.Fatal(err)
		}
	}
	const runs = 24 * 12
	now, err := e.Advance(t.Context(), 24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if want := start.Add(24 * time.Hour); !now.Equal(want) || !manual.Now().Equal(want) {
		t.Errorf("it is %s, want %s", now, want)
	}
	next := map[eventlog.WorkflowName]time.Time{"a": start, "b": start}
	for r, err := range b.Log.Read(t.Context(), 0, 1) {
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Facts {
			if _, started := f.(*eventlog.RunStarted); !started {
				continue
			}
			if !r.At.Time().Equal(next[r.Workflow]) {
				t.Fatalf("%s ran at %s, want %s", r.Workflow, r.At, next[r.Workflow])
			}
			next[r.Workflow] = next[r.Workflow].Add(5 * time.Minute)
		}
	}
	for name, at := range next {
		if want := start.Add((runs + 1) * 5 * time.Minute); !at.Equal(want) {
			t.Errorf("%s would run next at %s, want %s", name, at, want)
		}
	}
}
