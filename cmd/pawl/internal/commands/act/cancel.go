package act

import (
	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

type Cancel struct{ jobsAction }

func (c *Cancel) Run(engine *client.Finder, screen term.Screen) error {
	return c.change(engine, screen, "cancelEvents", "cancel", "cancelled")
}
