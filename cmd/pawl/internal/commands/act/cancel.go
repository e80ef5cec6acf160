package act

import (
	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Cancel is `pawl cancel`: cancel available and retryable jobs (J4).
type Cancel struct{ jobsAction }

// Run cancels the jobs and says how many were.
func (c *Cancel) Run(engine *client.Finder, screen term.Screen) error {
	return c.change(engine, screen, "cancelEvents", "cancel", "cancelled")
}
