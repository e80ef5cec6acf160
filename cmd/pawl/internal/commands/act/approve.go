package act

import (
	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Approve is `pawl approve`: send the recorded parameters of a mutation that asks, once (O5).
type Approve struct {
	mutationAction
	Hash string `name:"params-hash" placeholder:"SHA256" help:"Refuse if other parameters are recorded than those you looked at."`
}

// Run approves it and says what happens next.
func (c *Approve) Run(engine *client.Finder, screen term.Screen) error {
	params := map[string]any{}
	if c.Hash != "" {
		params["paramsHash"] = c.Hash
	}
	return c.act(engine, screen, "approveMutation", params, approved)
}
