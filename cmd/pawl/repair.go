package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/sandbox"
)

type (
	repairCmd struct {
		clientFlags
		Name string `arg:"" name:"workflow" help:"The workflow, which must be in maintenance."`
		File string `arg:"" type:"path" help:"The whole repaired script."`
		Note string `placeholder:"TEXT" help:"What was repaired, for the record."`
	}
	showRun struct {
		clientFlags
		Name     string `arg:"" name:"workflow" help:"The workflow."`
		ID       string `arg:"" name:"run" help:"The run."`
		Logs     bool   `xor:"what" help:"What it has logged."`
		All      bool   `help:"With --logs: also its connector reads, and what a handler that failed was given."`
		Evidence bool   `xor:"what" help:"All that a repair may need, as one JSON document: source, error, inputs, calls, logs, earlier failures."`
	}
)

// Run makes the file the workflow's next minor version.
func (c *repairCmd) Run(ctx context.Context, engine *finder, screen term.Screen, with parts) error {
	script, err := readSource(c.File)
	if err != nil {
		return err
	}
	connected, err := engine.connect(c.clientFlags)
	if err != nil {
		return err
	}
	params := map[string]any{"workflow": c.Name, "source": string(script.text), "filename": filepath.Base(c.File)}
	if c.Note != "" {
		params["note"] = c.Note
	}
	var raw json.RawMessage
	if err := connected.do("repairWorkflow", params, &raw); err != nil {
		err = refused(ctx, screen, with, script, err, connected.json)
		var refused *exit.Failure
		if errors.As(err, &refused) {
			refused.Hint = "correct what is listed above and repair again; a refused repair counts as one more failure (pawl why " + c.Name + ")"
		}
		return err
	}
	if connected.json {
		return screen.JSON(raw)
	}
	var done struct {
		Workflow, Version string
		Warnings          []sandbox.Problem
	}
	if err := json.Unmarshal(raw, &done); err != nil {
		return fmt.Errorf("read the engine's answer: %w", err)
	}
	printProblems(screen, script, done.Warnings)
	fmt.Fprintf(screen.Out, "%s %s is repaired and goes on\n", done.Workflow, done.Version)
	return nil
}

func (c *showRun) Run(engine *finder, screen term.Screen) error {
	params := map[string]any{"workflow": c.Name, "run": c.ID}
	if c.All && !c.Logs {
		return exit.Misconfigured("pawl runs show WORKFLOW RUN --logs --all", "--all belongs to --logs")
	}
	if !c.Logs && !c.Evidence {
		return show(engine, screen, c.clientFlags, "getRun", params)
	}
	connected, err := engine.connect(c.clientFlags)
	if err != nil {
		return err
	}
	if c.Evidence {
		var document json.RawMessage
		if err := connected.do("getEvidence", params, &document); err != nil {
			return err
		}
		return screen.JSON(document) // with or without --json: it is a document
	}
	if c.All {
		params["all"] = true
	}
	return answer(connected, "getRunLogs", params, func(p struct {
		Items []struct {
			At          time.Time
			Level, Text string
		}
	}) error {
		if len(p.Items) == 0 {
			fmt.Fprintln(screen.Err, "nothing is kept that this run has logged")
		}
		for _, line := range p.Items {
			fmt.Fprintf(screen.Out, "%s\t%s\t%s\n", line.At.Local().Format("2006-01-02 15:04:05.000"), line.Level, term.OneLine(line.Text, 4000))
		}
		return nil
	})
}

// printValue writes a value as one JSON document.
func printValue(screen term.Screen, value any) error {
	document, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("print the answer: %w", err)
	}
	return screen.JSON(document)
}
