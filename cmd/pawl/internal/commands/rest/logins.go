package rest

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

type (
	// Logins is `pawl logins`: list and end the logins of browsers.
	Logins struct {
		List  listLogins `cmd:"" default:"withargs" help:"List the browsers that are logged in: all for an admin, else those of the same token."`
		Close closeLogin `cmd:"" help:"End a login: from then on its browser is refused."`
	}
	listLogins struct{ client.Flags }
	closeLogin struct {
		client.Flags
		Login string `arg:"" help:"The login's id."`
	}
)

// Run prints the newest login last.
func (c *listLogins) Run(engine *client.Finder, screen term.Screen) error {
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	return client.Answer(connected, "listLogins", nil, func(p term.Page) error {
		slices.Reverse(p.Items) // it is printed from the end on
		screen.Table(p, []term.Column{
			{Title: "login", Field: "id"}, {Title: "name", Field: "user.name", Width: 40}, {Title: "role", Field: "role"},
			{Title: "workflow", Field: "workflow", Spare: 3}, {Title: "token", Field: "token", Spare: 2},
			{Title: "since", Field: "openedAt", Show: term.Moment},
			{Title: "ends", Field: "expiresAt", Show: term.Moment, Spare: 1},
		}, "no browser is logged in")
		return nil
	})
}

func (c *closeLogin) Run(engine *client.Finder, screen term.Screen) error {
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	return client.Answer(connected, "closeLogin", map[string]any{"login": c.Login}, func(json.RawMessage) error {
		fmt.Fprintf(screen.Out, "the login %s has ended\n", c.Login)
		return nil
	})
}
