package act

import (
	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Pause is `pawl pause`: begin no further run of a workflow (O6).
type Pause struct{ workflowAction }

// Help says what a pause does not stop: calls may still leave after it.
func (*Pause) Help() string {
	return "No further run begins, and no call is approved. A run that has already begun goes on to its end, also one " +
		"that is still choosing its events: it may yet make its one call, then it publishes. " +
		"What became of a call that has left is still found out. " +
		"To stop a run before its call, skip its event (pawl skip), or archive the workflow for good."
}

// Run pauses it and prints its status.
func (c *Pause) Run(engine *client.Finder, screen term.Screen) error {
	return act[workflowStatus](&c.workflowAction, engine, screen, "pauseWorkflow")
}
