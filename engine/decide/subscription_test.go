package decide_test

import (
	"testing"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
)

// O10: that an outgoing webhook was resumed is a transition of the installation, also when it is its first one.
func TestResumedSubscriptions(t *testing.T) {
	t.Parallel()
	resume := decide.ResumeSubscription{Name: "warehouse", Skipped: &eventlog.SkippedMessage{ID: "01T-1"}}
	i := newInstalled(t)
	for _, c := range []struct {
		what     string
		workflow eventlog.WorkflowName
		cmd      decide.Command
		want     string
	}{
		{"the first", eventlog.Installation, resume, ""},
		{"again", eventlog.Installation, resume, ""},
		{"no name", eventlog.Installation, decide.ResumeSubscription{}, "subscription.invalid"},
		{"of a workflow", "shop", resume, "subscription.misplaced"},
	} {
		if got := i.decides(c.workflow, c.cmd); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	if i.state.Head.Revision != 2 {
		t.Errorf("%d transitions are recorded, want 2", i.state.Head.Revision)
	}
}
