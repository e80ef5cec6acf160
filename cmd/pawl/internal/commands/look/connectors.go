package look

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/builtin"
	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/ops"
	"github.com/pawl-run/pawl/ops/rpc"
)

// Connectors is `pawl connectors`: list and try connectors, and give tools their users.
type Connectors struct {
	List   connectorsList  `cmd:"" default:"withargs" help:"List connectors and their operations."`
	Show   showConnector   `cmd:"" help:"Show a connector's operations with their parameters; --json has the schemas too."`
	Call   callConnector   `cmd:"" help:"Call one operation, outside of any workflow."`
	Check  checkConnector  `cmd:"" help:"Try whether a tool on NATS keeps the rules on which safe mutations depend."`
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
	Operations []offeredOperation
}

type offeredOperation struct {
	Name, Kind, Summary string
	Reconciles          bool
	TimeoutMS           int64
	Schema              json.RawMessage
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

// print prints what an operation does and returns, and its parameters. Only --json has its schema.
func (o offeredOperation) print(screen term.Screen, of string) {
	does, returns, _ := strings.Cut(o.Summary, " -> ")
	fmt.Fprintf(screen.Out, "%s.%s  %s\n", of, o.Name, o.Kind)
	if does != "" {
		screen.Indented(does)
	}
	if returns != "" {
		screen.Indented("returns " + returns)
	}
	asked := ""
	if o.Kind == string(connector.Mutate) {
		asked = ", and cannot be asked what became of a call"
		if o.Reconciles {
			asked = ", and can be asked what became of a call"
		}
	}
	screen.Indented(fmt.Sprintf("ends a call after %s%s", time.Duration(o.TimeoutMS)*time.Millisecond, asked))
	page, columns := term.Page{}, []term.Column{{Title: "parameter", Field: "name"},
		{Title: "type", Field: "type", Whole: true}, {Title: "required", Field: "required"}}
	parameters := connector.Parameters(o.Schema)
	if slices.ContainsFunc(parameters, func(p connector.Parameter) bool { return p.Means != "" }) {
		columns = append(columns, term.Column{Title: "what it means", Field: "means", Whole: true})
	}
	for _, p := range slices.Backward(parameters) {
		required := "no"
		if p.Required {
			required = "yes"
		}
		page.Items = append(page.Items, map[string]any{"name": p.Name, "type": strings.ReplaceAll(p.Type, "`", `"`),
			"required": required, "means": p.Means})
	}
	screen.Table(page, columns, "  any JSON object")
}

// printRefused prints to standard error why services are not offered to scripts: for one connector, or for all.
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

// Run shows one connector. Without an engine it can show one that is built in or described.
func (c *showConnector) Run(engine *client.Finder, screen term.Screen) error {
	file, err := engine.Conf.ReadConfig()
	if err != nil {
		return err
	}
	connected, err := engine.FindAs(c.Flags, file)
	if err != nil {
		return err
	}
	var list struct {
		Items   []json.RawMessage
		Refused []refusedService
	}
	if err = connected.Stranger; err == nil {
		err = connected.Do(connected.Ctx, "listConnectors", nil, &list)
	}
	switch {
	case connected.Stranger != nil, connected.Foreign(err), errors.Is(err, rpc.ErrUnreachable) && !c.Named():
		return c.alone(screen, connected, file, err)
	case err != nil:
		return connected.Explain(err)
	}
	printRefused(screen, list.Refused, c.Name)
	for _, raw := range list.Items {
		var shown offered
		if err := json.Unmarshal(raw, &shown); err != nil {
			return fmt.Errorf("read the engine's answer: %w", err)
		}
		if shown.Name == c.Name {
			return c.print(screen, shown, raw)
		}
	}
	hint := "pawl connectors list shows those there are"
	if advice, ok := builtin.Advice(c.Name); ok {
		hint = advice + ", and start the engine again"
	}
	return exit.Failed(hint, fmt.Errorf("there is no connector %q now", c.Name))
}

// alone shows a connector of this program, or of an OpenAPI description, without an engine. why is the error that kept
// it from asking one.
func (c *showConnector) alone(screen term.Screen, connected *client.Connection, file config.File, why error) error {
	registry, done, err := builtin.Alone(config.Connectors{OpenAPI: file.Described()})
	if err != nil {
		return exit.Misconfigured("", "%v", errors.Join(err, done()))
	}
	raw, ok := ops.DescribeConnector(deploy.CatalogOf(registry), c.Name)
	if err := done(); err != nil {
		return exit.Failed("", err)
	}
	if !ok {
		if slices.Contains(file.MCPServers(), c.Name) {
			return exit.Failed("start the engine with pawl up or pawl serve, then run this again", fmt.Errorf(
				"%s: %s is an MCP server; what it offers is known while an engine runs, which starts it", connected.Alone(why),
				c.Name))
		}
		if connected.Stranger != nil {
			return connected.Stranger
		}
		return connected.Explain(why)
	}
	var shown offered
	if err := json.Unmarshal(raw, &shown); err != nil {
		return fmt.Errorf("read the description of %s: %w", c.Name, err)
	}
	if _, described := file.Connectors.OpenAPI[c.Name]; described {
		fmt.Fprintf(screen.Err, "%s: %s is shown as its OpenAPI description says\n", connected.Alone(why), c.Name)
		return c.print(screen, shown, raw)
	}
	advice, _ := builtin.Advice(c.Name)
	fmt.Fprintf(screen.Err, "%s: %s is shown as it is built in; to use it, %s\n", connected.Alone(why), c.Name, advice)
	return c.print(screen, shown, raw)
}

func (c *showConnector) print(screen term.Screen, shown offered, raw json.RawMessage) error {
	if c.JSON {
		return screen.JSON(raw)
	}
	for i, op := range shown.Operations {
		if i > 0 {
			fmt.Fprintln(screen.Out)
		}
		op.print(screen, shown.Name)
	}
	return nil
}
