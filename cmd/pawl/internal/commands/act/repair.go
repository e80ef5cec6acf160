package act

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/source"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/sandbox"
)

// Repair is `pawl repair`: give a workflow in maintenance its repaired script (F9).
type Repair struct {
	client.Flags
	Name string `arg:"" name:"workflow" help:"The workflow, which must be in maintenance or have events that are held for a repair."`
	File string `arg:"" type:"path" help:"The whole repaired script."`
	Note string `placeholder:"TEXT" help:"What was repaired, for the record."`

	DryRun bool `help:"Repair nothing: say what the script would have done differently in recorded runs, as pawl diff does."`
}

// Run makes the file the workflow's next minor version.
func (c *Repair) Run(ctx context.Context, engine *client.Finder, screen term.Screen, with storage.Parts) error {
	script, err := source.Read(c.File)
	if err != nil {
		return err
	}
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	params := map[string]any{"workflow": c.Name, "source": string(script.Text), "filename": filepath.Base(c.File)}
	var raw json.RawMessage
	if c.DryRun {
		params["repair"] = true
		if err := connected.Call("diffWorkflow", params, &raw); err != nil {
			return source.Refused(ctx, screen, with, script, err, connected.JSON)
		}
		if connected.JSON {
			return screen.JSON(raw)
		}
		return source.PrintDifferences(screen, script, c.Name, raw)
	}
	if c.Note != "" {
		params["note"] = c.Note
	}
	if err := connected.Call("repairWorkflow", params, &raw); err != nil {
		var problem *rpc.Problem
		wanted := !errors.As(err, &problem) || problem.Code != "repair.notRequested" && problem.Code != "repair.spent"
		err = source.Refused(ctx, screen, with, script, err, connected.JSON)
		var refused *exit.Failure
		if wanted && errors.As(err, &refused) {
			refused.Hint = "correct what is listed above and repair again; a refused repair counts as one more failure " +
				"(pawl why " + c.Name + ")"
		}
		return err
	}
	if connected.JSON {
		return screen.JSON(raw)
	}
	var done struct {
		Workflow, Version string
		FreedEvents       int
		Warnings          []sandbox.Problem
	}
	if err := json.Unmarshal(raw, &done); err != nil {
		return fmt.Errorf("read the engine's answer: %w", err)
	}
	source.Print(screen, script, done.Warnings)
	fmt.Fprintf(screen.Out, "%s %s is repaired and goes on\n", done.Workflow, done.Version)
	source.PrintFreed(screen, done.FreedEvents)
	fmt.Fprintf(screen.Err, "  a file that pawl up follows still holds the earlier script: "+
		"its next save replaces this one, unless it has the repair too: pawl workflows source %s --out FILE\n", done.Workflow)
	return nil
}
