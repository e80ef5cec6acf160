package ops

import (
	"log/slog"
	"testing"

	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/engine/recording"
	"github.com/pawl-run/pawl/eventlog"
)

// recorded has the runs of the workflow shop recorded.
func recorded(t *testing.T) setting {
	t.Helper()
	recordings, err := recording.Open(t.TempDir(), map[eventlog.WorkflowName]recording.Keep{"shop": {}, "mailer": {}},
		slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = recordings.Close() })
	return func(_ *Config, b *enginetest.Harness) { b.Config.Recordings = recordings }
}

// versionsOf checks the operations on versions, of a workflow with one.
func versionsOf(t *testing.T, call func(string, int, map[string]any) map[string]any, with func(...any) map[string]any) {
	t.Helper()
	if v := call("listWorkflowVersions", 200, with())["items"].([]any); len(v) != 1 ||
		v[0].(map[string]any)["version"] != "1.0" || v[0].(map[string]any)["current"] != true {
		t.Errorf("versions: %v", v)
	}
	if v := call("diffWorkflow", 200, with("source", orders("shop", "fire"), "last", 5)); v["version"] != "1.0" ||
		v["runs"] != float64(0) {
		t.Errorf("the diff before any run: %v", v)
	}
	if v := call("rollbackWorkflow", 200, with("version", "1.0", "expectedVersion", "1.0")); v["changed"] != false {
		t.Errorf("rolled back to what runs: %v", v)
	}
}

// A test file is written of the runs that are named, and of no others.
func TestRecordRunsRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t, recorded(t))
	b.do("deployWorkflow", map[string]any{"source": orders("shop", "fire")}, nil)
	for code, runs := range map[string][]string{"recording.unknown": {"../R0"}, "record.runs": {"R0", "R0"}} {
		if p := b.refused("recordRuns", map[string]any{"workflow": "shop", "runs": runs}); p.Code != code || p.Hint == "" {
			t.Errorf("%v: %+v", runs, p)
		}
	}
	if p := b.refused("recordRuns", map[string]any{"workflow": "shop", "runs": make([]string, 101)}); p.Status != 422 {
		t.Errorf("101 runs: %+v", p)
	}
	b.do("deployWorkflow", map[string]any{"source": orders("unkept", "fire")}, nil)
	if p := b.refused("recordRuns", map[string]any{"workflow": "unkept", "runs": []string{"R0"}}); p.Status != 409 ||
		p.Code != "recordings.none" {
		t.Errorf("of a workflow that is not recorded: %+v", p)
	}
}
