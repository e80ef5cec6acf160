package act

import (
	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Reject is `pawl reject`: go on without mutations that wait for approval (O5, C11).
type Reject struct{ mutationsAction }

// Run rejects them and says what happens next.
func (c *Reject) Run(engine *client.Finder, screen term.Screen) error {
	return c.act(engine, screen, bulkAction{operation: "rejectMutations", one: "rejectMutation", verb: "reject",
		done: "rejected", params: map[string]any{}, then: rejected})
}
