package act

import (
	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

type Redrive struct {
	jobsAction
	IncludingUnknown bool `help:"Also those that ended as skipped after a call that was applied or whose outcome was not known: that may repeat its effect."`
}

func (c *Redrive) Run(engine *client.Finder, screen term.Screen) error {
	c.unknown = c.IncludingUnknown
	return c.change(engine, screen, "redriveEvents", "redrive", "redriven")
}
