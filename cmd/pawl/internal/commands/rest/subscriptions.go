package rest

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

type (
	// Subscriptions is `pawl subscriptions`: list outgoing webhooks and let a parked one go on.
	Subscriptions struct {
		List   listSubscriptions  `cmd:"" default:"withargs" help:"List the outgoing webhooks of the configuration, and how each stands."`
		Resume resumeSubscription `cmd:"" help:"Let a parked one go on with the message at which it was parked."`
	}
	listSubscriptions  struct{ client.Flags }
	resumeSubscription struct {
		client.Flags
		Name string `arg:"" help:"Its name in the configuration."`
	}
)

func (c *listSubscriptions) Run(engine *client.Finder, screen term.Screen) error {
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	return client.Answer(connected, "listSubscriptions", nil, func(p term.Page) error {
		slices.Reverse(p.Items) // it is printed from the end on
		screen.Table(p, []term.Column{
			{Title: "name", Field: "name"}, {Title: "state", Field: "state"},
			{Title: "since", Field: "since", Show: term.Moment, Spare: 2}, {Title: "to", Field: "target"},
			{Title: "sends", Field: "about", Width: 40, Spare: 1}, {Title: "error", Field: "error", Width: 80, Spare: 3},
		}, "none; pawl.yaml names them under subscriptions and alerts")
		return nil
	})
}

func (c *resumeSubscription) Run(engine *client.Finder, screen term.Screen) error {
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	return client.Answer(connected, "resumeSubscription", map[string]any{"name": c.Name}, func(json.RawMessage) error {
		fmt.Fprintf(screen.Out, "%s goes on with the message at which it was parked\n", c.Name)
		return nil
	})
}
