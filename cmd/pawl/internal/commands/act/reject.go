package act

import (
	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Reject is `pawl reject`: go on without a mutation that asks (O5).
type Reject struct{ mutationAction }

// Run rejects it and says what happens next.
func (c *Reject) Run(engine *client.Finder, screen term.Screen) error {
	return c.act(engine, screen, "rejectMutation", map[string]any{}, rejected)
}
