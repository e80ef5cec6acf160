package act

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/maintain"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Maintain is `pawl maintain`: have failed scripts repaired by a program, such as a language model (F9).
type Maintain struct {
	client.Flags
	Command    string        `placeholder:"CMD" help:"The maintainer is this command of the shell: it gets the evidence on standard input and writes the whole script."`
	Webhook    string        `placeholder:"URL" help:"The maintainer is asked by POST, with PAWL_MAINTAINER_TOKEN as its bearer token."`
	Tool       string        `placeholder:"CONNECTOR.OPERATION" help:"The maintainer is a tool on NATS, called as any connector; this needs the role admin."`
	Workflow   []string      `short:"w" placeholder:"NAME" help:"Only this workflow; may be given several times."`
	Proposals  string        `placeholder:"DIR" type:"path" help:"Repair nothing: write what the maintainer answers into this folder, for a person to look at and repair with."`
	PerDay     int           `default:"20" help:"The most repairs of one workflow in 24 hours; those of people count too."`
	Parallel   int           `default:"1" help:"How many workflows are repaired at once; each is by one maintainer."`
	Timeout    time.Duration `default:"10m" help:"Bound one answer of the maintainer."`
	QuietHours string        `placeholder:"HH:MM-HH:MM" help:"Repair nothing in these hours of each day."`
	Zone       string        `placeholder:"ZONE" default:"UTC" help:"The time zone of the quiet hours, e.g. Europe/Berlin."`
	Once       bool          `help:"End when nothing is left that could be repaired now."`
}

// Run repairs until it is interrupted, or once.
func (c *Maintain) Run(ctx context.Context, engine *client.Finder, screen term.Screen) error {
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	maintainer, err := c.maintainer(connected, screen)
	if err != nil {
		return err
	}
	quiet := maintain.Quiet{}
	if c.QuietHours != "" {
		zone, err := time.LoadLocation(c.Zone)
		if err != nil {
			return exit.Misconfigured("write e.g. --zone Europe/Berlin", "--zone: %v", err)
		}
		if quiet, err = maintain.ParseQuiet(c.QuietHours, zone); err != nil {
			return exit.Misconfigured("write e.g. --quiet-hours 22:00-06:00", "--quiet-hours: %v", err)
		}
	}
	if c.PerDay < 1 || c.Parallel < 1 || c.Timeout <= 0 {
		return exit.Misconfigured("give numbers of 1 or more, and a timeout such as 10m",
			"--per-day, --parallel and --timeout must be more than nothing")
	}
	if c.Proposals != "" {
		if err := os.MkdirAll(c.Proposals, 0o755); err != nil {
			return exit.Failed("name a folder that can be made", err)
		}
	}
	var lines sync.Mutex
	loop := maintain.Loop{
		Client: connected.Client, Maintainer: maintainer, Workflows: c.Workflow, PerDay: c.PerDay, Parallel: c.Parallel,
		Timeout: c.Timeout, Quiet: quiet, Proposals: c.Proposals,
		Report: func(workflow, what string) {
			lines.Lock()
			defer lines.Unlock()
			fmt.Fprintf(screen.Out, "%s %s\n", workflow, term.OneLine(what, 1000))
		},
	}
	if !c.Once {
		fmt.Fprintln(screen.Err, "pawl: repairing scripts that fail, with the maintainer; Ctrl-C stops")
	}
	return connected.Explain(loop.Run(ctx, c.Once))
}

// maintainer is the maintainer that the flags name.
func (c *Maintain) maintainer(connected *client.Connection, screen term.Screen) (maintain.Maintainer, error) {
	named := 0
	for _, way := range []string{c.Command, c.Webhook, c.Tool} {
		if way != "" {
			named++
		}
	}
	if named != 1 {
		return nil, exit.Misconfigured("give one of --command, --webhook and --tool",
			"%d maintainers are named, and one is wanted", named)
	}
	switch {
	case c.Webhook != "":
		token, _ := screen.Env("PAWL_MAINTAINER_TOKEN")
		webhook, err := maintain.NewWebhook(c.Webhook, token)
		if err != nil {
			return nil, exit.Misconfigured("write e.g. --webhook https://example.com/maintain", "--webhook: %v", err)
		}
		return webhook, nil
	case c.Tool != "":
		of, operation, err := maintain.ParseTool(c.Tool)
		if err != nil {
			return nil, exit.Misconfigured("write e.g. --tool maintainer.repair", "--tool: %v", err)
		}
		return maintain.Tool{Client: connected.Client, Connector: of, Operation: operation}, nil
	}
	return maintain.Command{Line: c.Command, Err: screen.Err}, nil
}
