package act

import (
	"encoding/json"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Resolve is `pawl resolve`: say what became of mutations whose connector cannot tell (O1 to O4, C11).
type Resolve struct {
	bulkFlags
	Mutation     string `arg:"" optional:"" help:"The mutation, as pawl mutations list shows it; left out with --where."`
	Happened     bool   `xor:"resolution" help:"It happened: next runs with RESULT as the call's result."`
	DidNotHappen bool   `xor:"resolution" aliases:"send-again" help:"It did not happen: a fresh run sends it again, with a new idempotency key, so that the other side takes it for another call. Also written --send-again."`
	Skip         bool   `xor:"resolution" help:"Go on without it: its events count as skipped."`
	AskAgain     bool   `xor:"resolution" aliases:"try-again" help:"Ask the connector again what became of it, where it can be asked; nothing is sent. Also written --try-again."`
	Result       string `arg:"" optional:"" help:"With --happened: what the call answered, as JSON; next is given null when it is left out."`
}

// Run records the resolution and says what happens next.
func (c *Resolve) Run(engine *client.Finder, screen term.Screen) error {
	resolution, then := "", consequence{}
	params := map[string]any{}
	if c.Where != "" && c.Result == "" {
		c.Mutation, c.Result = "", c.Mutation // no mutation is named, so the one argument is the result
	}
	if c.Result != "" {
		if !c.Happened {
			return exit.Misconfigured("leave it out", "RESULT %q belongs to --happened", c.Result)
		}
		if !json.Valid([]byte(c.Result)) {
			return exit.Misconfigured(`write text in quotes, as in '"sent"', or leave it out`, "RESULT %q is not JSON", c.Result)
		}
		params["result"] = json.RawMessage(c.Result)
	}
	switch {
	case c.Happened:
		resolution, then = "did_happen", happened(c.Result)
	case c.DidNotHappen:
		resolution, then = "did_not_happen", undone
	case c.Skip:
		resolution, then = "skip", skipped
	case c.AskAgain:
		resolution, then = "try_again", askedAgain
	default:
		look := "pawl mutations show " + c.Mutation
		if c.Mutation == "" {
			look = "pawl mutations list --held indeterminate"
		}
		return exit.Misconfigured("look at the other side first: "+look,
			"say what became of it: --happened, --did-not-happen, --skip or --ask-again")
	}
	params["resolution"] = resolution
	var named []string
	if c.Mutation != "" {
		named = append(named, c.Mutation)
	}
	return c.bulkFlags.act(engine, screen, named, bulkAction{operation: "resolveMutations", one: "resolveMutation",
		verb: "resolve", done: "resolved", params: params, then: then})
}
