package look

import (
	"encoding/json"
	"fmt"

	"github.com/pawl-run/pawl/cmd/pawl/internal/builtin"
	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Connectors is `pawl connectors`: list and try connectors, and give tools their users.
type Connectors struct {
	List   connectorsList  `cmd:"" default:"withargs" help:"List connectors and their operations."`
	Show   showConnector   `cmd:"" help:"Show a connector's operations with the schemas of their parameters."`
	Call   callConnector   `cmd:"" help:"Call one operation, outside of any workflow."`
	Check  checkConnector  `cmd:"" help:"Try whether a tool on NATS keeps what safe mutations rest on."`
	Add    addConnector    `cmd:"" help:"Give a tool on NATS a user of its own and print its URL: no other tool gets its requests."`
	Remove removeConnector `cmd:"" help:"Take a tool's own user away and end its connections."`
}

type connectorsList struct{ client.Flags }

type showConnector struct {
	client.Flags
	Name string `arg:"" help:"The connector."`
}

type offered struct {
	Name       string
	Operations []struct {
		Name, Kind, Summary string
		Reconciles          bool
		TimeoutMS           int64
		Schema              json.RawMessage
	}
}

type refusedService struct{ Service, Endpoint, Reason string }

type toolUser struct {
	Connector   string
	Connections int
}

// Run lists one operation per line.
func (c *connectorsList) Run(engine *client.Finder, screen term.Screen) error {
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	return client.Answer(connected, "listConnectors", nil, func(list struct {
		Items   []offered
		Refused []refusedService
		Users   []toolUser
	}) error {
		p := term.Page{}
		for _, connector := range list.Items {
			for _, op := range connector.Operations {
				p.Items = append([]map[string]any{{"name": connector.Name + "." + op.Name, "kind": op.Kind, "summary": op.Summary}},
					p.Items...)
			}
		}
		none := "no connector is configured: start the engine with a folder for one (--maildir, --files or --csv DIR), " +
			"or name hosts for http in pawl.yaml"
		if len(list.Users) > 0 {
			none = "no connector is there now: a tool has a user and is not connected"
		}
		screen.Table(p, []term.Column{
			{Title: "operation", Field: "name"}, {Title: "kind", Field: "kind"},
			{Title: "what it does", Field: "summary", Width: 110, Spare: 1},
		},
			none)
		printRefused(screen, list.Refused, "")
		for _, u := range list.Users {
			fmt.Fprintf(screen.Err, "user: %s has a user of its own, with %s now\n", term.OneLine(u.Connector, 200),
				term.Plural(u.Connections, "connection"))
		}
		return nil
	})
}

// printRefused says on standard error why services are not offered to scripts; of all, or of one.
func printRefused(screen term.Screen, refused []refusedService, name string) {
	for _, r := range refused {
		if name != "" && r.Service != name {
			continue
		}
		what := "service " + r.Service
		if r.Endpoint != "" {
			what = r.Service + "." + r.Endpoint
		}
		fmt.Fprintf(screen.Err, "refused: %s is not used: %s\n", term.OneLine(what, 200), term.OneLine(r.Reason, 1000))
	}
}

// Run shows one connector.
func (c *showConnector) Run(engine *client.Finder, screen term.Screen) error {
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	var list struct {
		Items   []json.RawMessage
		Refused []refusedService
	}
	if err := connected.Perform("listConnectors", nil, &list); err != nil {
		return err
	}
	printRefused(screen, list.Refused, c.Name)
	for _, raw := range list.Items {
		var connector offered
		if err := json.Unmarshal(raw, &connector); err != nil {
			return fmt.Errorf("read the engine's answer: %w", err)
		}
		if connector.Name != c.Name {
			continue
		}
		if c.JSON {
			return screen.JSON(raw)
		}
		for _, op := range connector.Operations {
			fmt.Fprintf(screen.Out, "%s.%s  %s\n  %s\n  parameters: %s\n", connector.Name, op.Name, op.Kind, op.Summary,
				term.OneLine(string(op.Schema), 4000))
		}
		return nil
	}
	hint := "pawl connectors list shows those there are"
	if advice, ok := builtin.Advice[c.Name]; ok {
		hint = advice + ", and start the engine again"
	}
	return exit.Failed(hint, fmt.Errorf("there is no connector %q now", c.Name))
}
