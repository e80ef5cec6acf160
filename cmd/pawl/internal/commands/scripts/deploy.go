package scripts

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/source"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/sandbox"
)

// Deploy is `pawl deploy`: give scripts to the running engine (O9).
type Deploy struct {
	client.Flags
	Grant  map[string]string `placeholder:"CAPABILITY=allow|ask|deny" help:"Replace all grants of the workflow, e.g. --grant csv.appendRow=allow. A new workflow may read and asks before it changes anything."`
	Expect string            `placeholder:"MAJOR.MINOR" help:"Refuse unless this version runs now."`
	Strict bool              `help:"Take warnings for errors."`
	Files  []string          `arg:"" name:"file" type:"path" help:"The scripts, one workflow each."`
}

// Run deploys the scripts to the running engine, one after the other. One that is refused keeps no other from running.
func (c *Deploy) Run(ctx context.Context, engine *client.Finder, screen term.Screen, with storage.Parts) error {
	if len(c.Files) > 1 && (c.Expect != "" || len(c.Grant) > 0) {
		return exit.Misconfigured("deploy the files one by one",
			"--expect and --grant are about one workflow, and there are %d files", len(c.Files))
	}
	var connected *client.Connection
	return each(ctx, screen, c.Files, func(file string) error {
		script, err := source.Read(file)
		if err != nil {
			return err
		}
		if connected == nil {
			if connected, err = engine.Connect(c.Flags); err != nil {
				return err
			}
		}
		return c.deploy(ctx, connected, screen, with, script)
	})
}

func (c *Deploy) deploy(ctx context.Context, connected *client.Connection, screen term.Screen, with storage.Parts,
	script source.Script) error {
	params := map[string]any{"source": string(script.Text), "filename": filepath.Base(script.Path)}
	if c.Expect != "" {
		params["expectedVersion"] = c.Expect
	}
	if c.Strict {
		params["strict"] = true
	}
	if len(c.Grant) > 0 {
		params["grants"] = c.Grant
	}
	var raw json.RawMessage
	if err := connected.Call("deployWorkflow", params, &raw); err != nil {
		return source.Refused(ctx, screen, with, script, err, connected.JSON)
	}
	if connected.JSON {
		return screen.JSON(raw)
	}
	var done struct {
		Name      eventlog.WorkflowName
		Version   eventlog.Version
		Warnings  []sandbox.Problem
		Asks      []string
		Withdrawn []string
		Changed   bool
		Freed     bool

		FreedEvents, HeldForResume int
	}
	if err := json.Unmarshal(raw, &done); err != nil {
		return fmt.Errorf("read the engine's answer: %w", err)
	}
	source.Print(screen, script, done.Warnings)
	fmt.Fprintf(screen.Out, "%s %s\n", done.Name, done.Version)
	switch {
	case done.Freed:
		fmt.Fprintf(screen.Err, "%s is no longer in maintenance and runs again\n", done.Name)
	case !done.Changed:
		fmt.Fprintf(screen.Err, "%s already runs this script; nothing was changed. To see what it waits for: pawl why %s\n",
			done.Name, done.Name)
	}
	source.PrintFreed(screen, done.FreedEvents)
	source.PrintHeld(screen, string(done.Name), done.HeldForResume)
	for _, capability := range done.Asks {
		fmt.Fprintf(screen.Err, "%s asks before each %s; to allow it: pawl grants %s %s=allow\n", done.Name, capability,
			done.Name, capability)
	}
	if len(c.Grant) == 0 {
		return nil
	}
	if len(done.Withdrawn) > 0 {
		fmt.Fprintln(screen.Err, explain.Withdrawn(done.Name, done.Withdrawn))
	}
	var now client.Grants
	if err := connected.Call("getGrants", map[string]any{"workflow": done.Name}, &now); err != nil {
		return err
	}
	for _, capability := range now.Unused() {
		fmt.Fprintf(screen.Err, "grant %s=%s concerns no operation that the script uses\n", capability,
			now.Grants[capability])
	}
	return nil
}
