package look

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops"
)

// Runs is `pawl runs`.
type Runs struct {
	List   runsList   `cmd:"" default:"withargs" help:"List runs."`
	Show   showRun    `cmd:"" help:"Show a run, its log or the evidence for a repair."`
	Record recordRuns `cmd:"" help:"Write recorded runs as a test file, which pawl test runs."`
}

type runsList struct {
	listFlags
	ofWorkflow
	Status  string `choices:"run_status" help:"Only those of this status: ${run_status}."`
	Phase   string `choices:"run_phase" help:"Only those in this phase: ${run_phase}."`
	Handler string `help:"Only those of this handler."`
}

func (c *runsList) Run(engine *client.Finder, screen term.Screen) error {
	filters, err := statusFilter(c.Status)
	if err != nil {
		return err
	}
	filters["phase"], filters["handler"] = c.Phase, c.Handler
	return listWith(engine, screen, c.listFlags, "Runs", c.ofWorkflow, filters, []term.Column{
		{Title: "run", Field: "id"}, {Title: "workflow", Field: "workflow", Spare: 2},
		{Title: "handler", Field: "handler", Spare: 3}, {Title: "status", Field: "status"},
		{Title: "phase", Field: "phase", Spare: 5},
		{Title: "started", Field: "startedAt", Show: term.Moment, Uncut: true, Spare: 4},
		{Title: "error", Field: "error.message", Whole: true}, {Title: "about", Field: "about", Width: 50, Spare: 1},
	}, func(c *client.Connection, p term.Page) {
		addAbout(c, p)
		nameFailures(p)
	})
}

// runStatuses are the statuses of runs as lists show them.
func runStatuses() []string {
	var all []string
	for _, status := range ops.Possible("listRuns", "status") {
		if all = append(all, status); status == awaitsPerson {
			for _, class := range ops.Possible("listRuns", "class") {
				if decide.StatusOf(eventlog.Class(class)) == eventlog.RunStatusPausedApproval {
					all = append(all, failedAs+class)
				}
			}
		}
	}
	return all
}

// statusFilter chooses the runs that a list shows with the status; all of them where it is empty.
func statusFilter(shown string) (map[string]any, error) {
	if shown != "" && !slices.Contains(runStatuses(), shown) {
		return nil, exit.Misconfigured("pawl runs list --help", "--status is %q; it must be one of %s", shown,
			strings.Join(runStatuses(), ", "))
	}
	class, named := strings.CutPrefix(shown, failedAs)
	switch {
	case shown == awaitsPerson:
		return map[string]any{"status": shown, "ended": false}, nil
	case named && !slices.Contains(ops.Possible("listRuns", "status"), shown):
		return map[string]any{"status": awaitsPerson, "class": class}, nil
	}
	return map[string]any{"status": shown}, nil
}

// nameFailures shows the class of a failure as the status of its run, where the run has the same status as a run that
// awaits approval (F2): the run is over, and what a person can do is in the error.
func nameFailures(p term.Page) {
	for _, run := range p.Items {
		if class := term.Plain(term.At(run, "error.class")); term.Plain(run["status"]) == awaitsPerson &&
			run["endedAt"] != nil && class != term.None {
			run["status"] = failedAs + class
		}
	}
}

// awaitsPerson is the status of a run that awaits an approval, and of a run whose failure only a person can end (F2).
const awaitsPerson = string(eventlog.RunStatusPausedApproval)

// failedAs is before the class of a failure in a run's status.
const failedAs = "failed:"

// failureNamed does what nameFailures does, for one run in the JSON of the answer: its fields keep their order.
func failureNamed(run json.RawMessage) json.RawMessage {
	var item map[string]any
	if json.Unmarshal(run, &item) != nil {
		return run // Fields says what is wrong with it
	}
	nameFailures(term.Page{Items: []map[string]any{item}})
	shown := []byte(`"status":"` + term.Plain(item["status"]) + `"`)
	return bytes.Replace(run, []byte(`"status":"`+awaitsPerson+`"`), shown, 1)
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
		connected, err := engine.Connect(c.Flags)
		if err != nil {
			return err
		}
		return client.Answer(connected, "getRun", params, func(run json.RawMessage) error {
			return screen.Fields(failureNamed(run))
		})
	}
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	if c.Evidence {
		var document json.RawMessage
		if err := connected.Call("getEvidence", params, &document); err != nil {
			return err
		}
		return screen.JSON(document) // also without --json, since evidence is one document
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
			fmt.Fprintf(screen.Out, "%s\t%s\t%s\n", line.At.Local().Format("2006-01-02 15:04:05.000"), line.Level,
				term.OneLine(line.Text, 4000))
		}
		return nil
	})
}
