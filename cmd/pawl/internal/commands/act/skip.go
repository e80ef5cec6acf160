package act

import (
	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

type Skip struct{ jobsAction }

func (c *Skip) Run(engine *client.Finder, screen term.Screen) error {
	return c.change(engine, screen, "skipEvents", "skip", "skipped")
}
