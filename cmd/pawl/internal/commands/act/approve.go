package act

import (
	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Approve is `pawl approve`: send the recorded parameters of mutations that wait for approval, once each (O5, C11).
type Approve struct {
	mutationsAction
	Hash string `name:"params-hash" placeholder:"SHA256" help:"Refuse if other parameters are recorded than those you looked at."`
}

// Run approves them and says what happens next.
func (c *Approve) Run(engine *client.Finder, screen term.Screen) error {
	params := map[string]any{}
	if c.Hash != "" {
		params["paramsHash"] = c.Hash
		if len(c.Mutation) != 1 {
			return exit.Misconfigured("leave it out: each is approved as it is recorded when they are counted",
				"--params-hash belongs to one mutation")
		}
	}
	return c.act(engine, screen, bulkAction{operation: "approveMutations", one: "approveMutation", verb: "approve",
		done: "approved", params: params, then: approved})
}
