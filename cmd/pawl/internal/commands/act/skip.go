package act

import (
	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Skip is `pawl skip`: end events unprocessed (O7).
type Skip struct{ jobsAction }

// Run skips the events and says how many were.
func (c *Skip) Run(engine *client.Finder, screen term.Screen) error {
	return c.change(engine, screen, "skipEvents", "skip", "skipped")
}
