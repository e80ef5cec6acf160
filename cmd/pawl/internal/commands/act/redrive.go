package act

import (
	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Redrive is `pawl redrive`: let cancelled, discarded and held events go on (J3, O11).
type Redrive struct {
	jobsAction
	IncludingUnknown bool `help:"Also those that have had a call that was applied, or whose outcome is not known: that may repeat its effect."`
}

// Run redrives the jobs and says how many were.
func (c *Redrive) Run(engine *client.Finder, screen term.Screen) error {
	c.unknown = c.IncludingUnknown
	return c.change(engine, screen, "redriveEvents", "redrive", "redriven")
}
