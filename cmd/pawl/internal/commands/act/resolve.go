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
	AskAgain     bool   `xor:"resolution" aliases:"try-again" help:"Find out again what became of it. That sends nothing new: its host is asked, or gets the same call once more, with the same key, where reconcile.resend is configured. Also written --try-again."`
	Result       string `arg:"" optional:"" help:"With --happened: what the call answered, as JSON; next is given null when it is left out."`
}

// Run records the resolution and says what happens next.
func (c *Resolve) Run(engine *client.Finder, screen term.Screen) error {
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
	resolution, done, then := c.word()
	if resolution == "" {
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
		verb: "resolve", done: done, params: params, then: then})
}

// word is the resolution that the flags name, empty for none, what has been done to a mutation then, and what follows.
func (c *Resolve) word() (resolution, done string, then consequence) {
	switch {
	case c.Happened:
		return "did_happen", "resolved", happened(c.Result)
	case c.DidNotHappen:
		return "did_not_happen", "resolved", undone
	case c.Skip:
		return "skip", "resolved", skipped
	case c.AskAgain:
		return "try_again", "asked again", askedAgain
	}
	return "", "", consequence{}
}
