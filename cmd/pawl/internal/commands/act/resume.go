package act

import (
	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Resume is `pawl resume`: end a pause, and the system's hold with it (O6).
type Resume struct{ workflowAction }

// Run resumes it and prints its status.
func (c *Resume) Run(engine *client.Finder, screen term.Screen) error {
	return c.act(engine, screen, "resumeWorkflow")
}
