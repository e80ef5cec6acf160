package act

import (
	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

type Reject struct{ mutationAction }

func (c *Reject) Run(engine *client.Finder, screen term.Screen) error {
	return c.act(engine, screen, "rejectMutation", map[string]any{}, rejected)
}
