package act

import (
	"fmt"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Resume is `pawl resume`: end a pause, and the system's hold with it (O6).
type Resume struct{ workflowAction }

// Run resumes it and prints its status.
func (c *Resume) Run(engine *client.Finder, screen term.Screen) error {
	return act[resumed](&c.workflowAction, engine, screen, "resumeWorkflow")
}

// resumed is a workflow after a resume, with the number of its events that the resume has not freed (C5).
type resumed struct {
	workflowStatus
	Counts struct{ Held int }
}

func (w resumed) String() string {
	text := w.workflowStatus.String()
	if n := w.Counts.Held; n > 0 {
		are := "are"
		if n == 1 {
			are = "is"
		}
		text += fmt.Sprintf("; %s %s still held (pawl why %s)", term.Plural(n, "event"), are, w.Name)
	}
	return text
}
