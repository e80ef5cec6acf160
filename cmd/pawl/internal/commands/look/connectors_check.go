package look

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine/connector/natsservice"
)

// checkConnector tries whether a tool keeps the rules on which safe mutations depend.
type checkConnector struct {
	JSON    bool              `name:"json" help:"Print the report as JSON."`
	Name    string            `arg:"" help:"The connector: a service on NATS."`
	Params  map[string]string `mapsep:"none" placeholder:"OPERATION=JSON" help:"Parameters with which an operation works; one without is not called. May be given several times."`
	Observe map[string]string `mapsep:"none" placeholder:"OPERATION=READ" help:"A read of the same service whose answer shows the mutation's effect, such as a count."`
	Timeout time.Duration     `help:"Bound one call; else the operation's own timeout does."`
	Yes     bool              `short:"y" help:"Allow calls of mutations: they change the outside, and no workflow's log knows of them."`
}

// Run prints what was found and fails when a rule is broken.
func (c *checkConnector) Run(ctx context.Context, screen term.Screen, conf config.Reader) error {
	trials, err := c.trials()
	if err != nil {
		return err
	}
	connect, err := client.ConnectTool(conf, c.Name)
	if err != nil {
		return err
	}
	report, err := natsservice.Check(ctx, natsservice.CheckConfig{
		Connect: connect, Prefix: datadir.NATSPrefix, Name: c.Name, Trials: trials, Yes: c.Yes, Timeout: c.Timeout,
	})
	switch {
	case errors.Is(err, natsservice.ErrNoService):
		hint := "pawl connectors list shows those there are; those built in need no check"
		return exit.Failed(hint, fmt.Errorf("check %s: %w", c.Name, natsservice.ErrNoService))
	case err != nil:
		return exit.Failed("", err)
	}
	for _, name := range slices.Sorted(maps.Keys(trials)) {
		if report.OK() && !slices.ContainsFunc(report.Findings, func(f natsservice.Finding) bool {
			return f.Operation == name
		}) {
			return exit.Misconfigured("pawl connectors show "+c.Name+" shows what there is",
				"connector %s has no operation %s to check", c.Name, name)
		}
	}
	if c.JSON {
		document, err := json.Marshal(report)
		if err != nil {
			return fmt.Errorf("print the report: %w", err)
		}
		if err := screen.JSON(document); err != nil {
			return err
		}
	} else {
		printReport(screen, report)
	}
	if !report.OK() {
		return exit.Silent(exit.CodeFailed)
	}
	return nil
}

// trials reads how the operations may be tried.
func (c *checkConnector) trials() (map[string]natsservice.Trial, error) {
	trials := make(map[string]natsservice.Trial, len(c.Params))
	for name, params := range c.Params {
		if !json.Valid([]byte(params)) {
			return nil, exit.Misconfigured(`quote it for your shell: --params 'appendRow={"values": ["a"]}'`,
				"the parameters for %s are no JSON", name)
		}
		trials[name] = natsservice.Trial{Params: json.RawMessage(params)}
	}
	for name, read := range c.Observe {
		trial, ok := trials[name]
		if !ok {
			return nil, exit.Misconfigured("add --params "+name+"='{…}'",
				"%s cannot be observed: it is not called without parameters", name)
		}
		trial.Observe = read
		trial.ObserveParams = trials[read].Params
		trials[name] = trial
	}
	return trials, nil
}

func printReport(screen term.Screen, report natsservice.Report) {
	style := screen.Style(screen.Out)
	counts := make(map[natsservice.Mark]int)
	for _, f := range report.Findings {
		counts[f.Mark]++
		mark := map[natsservice.Mark]string{
			natsservice.Kept: style.Green("✓ kept"), natsservice.Broken: style.Red("✗ broken"),
			natsservice.Unchecked: style.Yellow("? unchecked"),
		}[f.Mark]
		fmt.Fprintf(screen.Out, "%s  %s  %s.%s: %s\n", mark, f.Rule, report.Connector, cmp.Or(f.Operation, "*"),
			term.OneLine(f.Text, 2000))
	}
	fmt.Fprintf(screen.Out, "%d kept, %d broken, %d unchecked\n", counts[natsservice.Kept], counts[natsservice.Broken],
		counts[natsservice.Unchecked])
}
