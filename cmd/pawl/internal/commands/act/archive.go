package act

import (
	"fmt"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Archive is `pawl archive`: stop a workflow for good and keep its history (O6).
type Archive struct {
	workflowAction
	Yes bool `short:"y" help:"Do not ask at a terminal before the workflow is stopped for good."`
}

// Run asks a person first: nothing brings an archived workflow back. A program is not asked.
func (c *Archive) Run(engine *client.Finder, screen term.Screen) error {
	if !c.Yes && term.IsTerminal(screen.In) {
		if err := confirm(screen, fmt.Sprintf("archive %s for good (its history stays, its name cannot be used again)?",
			c.Name)); err != nil {
			return err
		}
	}
	return c.act(engine, screen, "archiveWorkflow")
}
