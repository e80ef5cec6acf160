package look

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/ops/doctor"
)

// Doctor is `pawl doctor`: report what is wrong with the installation, and what to do about it.
type Doctor struct {
	client.Flags
	Server string `placeholder:"URL,URL" help:"Look at a NATS server of your own instead, with the account that engines would use there."`
	Creds  string `placeholder:"FILE" type:"existingfile" help:"With --server: the credentials of that account."`
}

// Help says what the exit code means.
func (*Doctor) Help() string {
	return "Looks at versions, streams, disk, clocks, sync settings and permissions. Nothing is changed. The exit code " +
		"is 1 if there is a problem; a setting that only guarantees less than it could is none."
}

// serverTime bounds the look at a server.
const serverTime = 20 * time.Second

// Run asks the engine, or looks at a server.
func (c *Doctor) Run(ctx context.Context, engine *client.Finder, screen term.Screen) error {
	if c.Creds != "" && c.Server == "" {
		return exit.Misconfigured("pawl doctor --server URL --creds FILE", "--creds goes with --server")
	}
	if c.Server != "" {
		report, err := c.lookAtServer(ctx)
		if err != nil {
			return err
		}
		return c.print(screen, report)
	}
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	var report doctor.HealthReport
	if err := connected.Call("getHealthReport", nil, &report); err != nil {
		return err
	}
	return c.print(screen, report)
}

func (c *Doctor) lookAtServer(ctx context.Context) (doctor.HealthReport, error) {
	options := []nats.Option{nats.Name("pawl doctor"), nats.Timeout(serverTime / 4), nats.NoReconnect()}
	if c.Creds != "" {
		options = append(options, nats.UserCredentials(c.Creds))
	}
	nc, err := nats.Connect(c.Server, options...)
	if err != nil {
		return doctor.HealthReport{}, exit.Failed("is the server there, and are the credentials those of its account?",
			fmt.Errorf("connect to the NATS server: %w", err))
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(ctx, serverTime)
	defer cancel()
	report, err := doctor.Server(ctx, nc)
	if err != nil {
		return report, exit.Failed("", err)
	}
	return report, nil
}

func (c *Doctor) print(screen term.Screen, report doctor.HealthReport) error {
	if c.JSON {
		document, err := json.Marshal(report)
		if err != nil {
			return fmt.Errorf("print what was found: %w", err)
		}
		if err := screen.JSON(document); err != nil {
			return err
		}
	} else {
		for _, f := range report.Findings {
			fmt.Fprintf(screen.Out, "%s\t%s\t%s\n", f.Verdict, f.Check, term.OneLine(f.Says, 500))
			if f.Remedy != "" {
				fmt.Fprintf(screen.Out, "\t\t→ %s\n", term.OneLine(f.Remedy, 500))
			}
		}
	}
	if report.Fails() {
		return exit.Silent(exit.CodeFailed)
	}
	return nil
}
