package rest

import (
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/eventlog"
)

type (
	// Subscriptions is `pawl subscriptions`: list outgoing webhooks and let a parked one go on.
	Subscriptions struct {
		List   listSubscriptions  `cmd:"" default:"withargs" help:"List the outgoing webhooks of the configuration, with the status of each."`
		Resume resumeSubscription `cmd:"" help:"Let a parked webhook go on with the message at which it was parked, or behind it."`
	}
	listSubscriptions  struct{ client.Flags }
	resumeSubscription struct {
		client.Flags
		Name string `arg:"" help:"Its name in the configuration."`
		Skip bool   `help:"Leave that message undelivered, and go on behind it."`
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
	type answer struct{ Skipped *eventlog.SkippedMessage }
	params := map[string]any{"name": c.Name, "skip": c.Skip}
	return client.Answer(connected, "resumeSubscription", params, func(a answer) error {
		if a.Skipped == nil {
			fmt.Fprintf(screen.Out, "%s goes on with the message at which it was parked\n", c.Name)
			return nil
		}
		of := ""
		if a.Skipped.Workflow != "" {
			of = " of " + string(a.Skipped.Workflow)
		}
		fmt.Fprintf(screen.Out, "%s goes on without message %s (%s%s)\n", c.Name, a.Skipped.ID, a.Skipped.Type, of)
		return nil
	})
}
