package act

import (
	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

type Resume struct{ workflowAction }

func (c *Resume) Run(engine *client.Finder, screen term.Screen) error {
	return c.act(engine, screen, "resumeWorkflow")
}
