package rest

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

type (
	// Tokens is `pawl tokens`: make, list and revoke named tokens.
	Tokens struct {
		Create createToken `cmd:"" help:"Make a token for one program or person and print it, this once."`
		List   listTokens  `cmd:"" default:"withargs" help:"List the named tokens in use."`
		Revoke revokeToken `cmd:"" help:"Revoke a named token: from then on it is refused."`
	}
	createToken struct {
		client.Flags
		Name     string `arg:"" help:"The name of its user: the log shows it with all that is done with the token."`
		Role     string `required:"" placeholder:"viewer|ingest|operator|admin" enum:"viewer,ingest,operator,admin" help:"viewer reads; ingest pushes events and does nothing else; operator does both and deploys; admin also gives grants and tokens."`
		Workflow string `short:"w" placeholder:"NAME" help:"The only workflow that the token is for, which need not exist yet. Left out, it is for all."`
	}
	listTokens  struct{ client.Flags }
	revokeToken struct {
		client.Flags
		Name string `arg:"" help:"The token's name."`
	}
)

// Run prints the token alone, so that a program can read it.
func (c *createToken) Run(engine *client.Finder, screen term.Screen) error {
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	params := map[string]any{"name": c.Name, "role": c.Role}
	if c.Workflow != "" {
		params["workflow"] = c.Workflow
	}
	return client.Answer(connected, "createToken", params,
		func(created struct{ Name, Role, Workflow, Token string }) error {
			of := "all workflows"
			if created.Workflow != "" {
				of = "workflow " + created.Workflow
			}
			fmt.Fprintf(screen.Err,
				"pawl: the token %s (%s, %s) is shown this once; programs take it as PAWL_TOKEN, with --url\n", created.Name,
				created.Role, of)
			fmt.Fprintln(screen.Out, created.Token)
			return nil
		})
}

func (c *listTokens) Run(engine *client.Finder, screen term.Screen) error {
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	return client.Answer(connected, "listTokens", nil, func(p term.Page) error {
		slices.Reverse(p.Items) // it is printed from the end on
		screen.Table(p, []term.Column{
			{Title: "name", Field: "name"}, {Title: "role", Field: "role"}, {Title: "workflow", Field: "workflow"},
			{Title: "created", Field: "createdAt", Show: term.Moment, Spare: 1},
			{Title: "by", Field: "createdBy.name", Width: 40, Spare: 2}, {Title: "ends in", Field: "last4", Spare: 3},
		}, "none; the engine's own is in DATA/http.token")
		return nil
	})
}

func (c *revokeToken) Run(engine *client.Finder, screen term.Screen) error {
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	return client.Answer(connected, "revokeToken", map[string]any{"name": c.Name}, func(json.RawMessage) error {
		fmt.Fprintf(screen.Out, "the token %s is revoked\n", c.Name)
		return nil
	})
}
