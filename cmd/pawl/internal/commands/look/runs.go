package look

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

type Runs struct {
	List listRuns `cmd:"" default:"withargs" help:"List runs."`
	Show showRun  `cmd:"" help:"Show a run, its log or the evidence for a repair."`
}

type listRuns struct {
	listFlags
	ofWorkflow
	Status  string `help:"Only those of this status: ${run_status}."`
	Phase   string `help:"Only those in this phase: ${run_phase}."`
	Handler string `help:"Only those of this handler."`
}

func (c *listRuns) Run(engine *client.Finder, screen term.Screen) error {
	return list(engine, screen, c.listFlags, "Runs", c.Workflow, map[string]string{"status": c.Status, "phase": c.Phase, "handler": c.Handler}, []term.Column{
		{Title: "run", Field: "id"}, {Title: "workflow", Field: "workflow"}, {Title: "handler", Field: "handler"},
		{Title: "status", Field: "status"}, {Title: "phase", Field: "phase"}, {Title: "started", Field: "startedAt", Show: term.Moment},
		{Title: "error", Field: "error.message", Width: 60},
	})
}

type showRun struct {
	client.Flags
	Name     string `arg:"" name:"workflow" help:"The workflow."`
	ID       string `arg:"" name:"run" help:"The run."`
	Logs     bool   `xor:"what" help:"What it has logged."`
	All      bool   `help:"With --logs: also its connector reads, and what a handler that failed was given."`
	Evidence bool   `xor:"what" help:"All that a repair may need, as one JSON document: source, error, inputs, calls, logs, earlier failures."`
}

func (c *showRun) Run(engine *client.Finder, screen term.Screen) error {
	params := map[string]any{"workflow": c.Name, "run": c.ID}
	if c.All && !c.Logs {
		return exit.Misconfigured("pawl runs show WORKFLOW RUN --logs --all", "--all belongs to --logs")
	}
	if !c.Logs && !c.Evidence {
		return show(engine, screen, c.Flags, "getRun", params)
	}
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	if c.Evidence {
		var document json.RawMessage
		if err := connected.Perform("getEvidence", params, &document); err != nil {
			return err
		}
		return screen.JSON(document) // with or without --json: it is a document
	}
	if c.All {
		params["all"] = true
	}
	return client.Answer(connected, "getRunLogs", params, func(p struct {
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
