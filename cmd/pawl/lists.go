package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/ops"
)

// listFlags are the flags of every list. Lists show the newest, the newest at the bottom.
type listFlags struct {
	clientFlags
	Limit int    `default:"50" help:"How many of the newest to show, at most 1000."`
	Q     string `name:"q" placeholder:"TEXT" help:"Only those with this text in a title, id or error."`
}

// ofWorkflow narrows a list to one workflow.
type ofWorkflow struct {
	Workflow string `short:"w" placeholder:"NAME" help:"Only those of this workflow."`
}

// choices are the values of filters, as the table of operations has them, for the help.
func choices() kong.Vars {
	vars := kong.Vars{}
	for name, of := range map[string][2]string{
		"workflow_status": {"listWorkflows", "status"}, "run_status": {"listRuns", "status"}, "run_phase": {"listRuns", "phase"},
		"event_status": {"listEvents", "status"}, "job_state": {"listJobs", "state"}, "mutation_status": {"listMutations", "status"},
		"input_status": {"listInputs", "status"}, "session_result": {"listSessions", "status"},
	} {
		vars[name] = strings.Join(ops.Possible(of[0], of[1]), ", ")
	}
	return vars
}

// list asks for the newest and prints them.
func list(engine *finder, screen term.Screen, f listFlags, what, workflow string, filters map[string]string, columns []term.Column) error {
	return listWith(engine, screen, f, what, workflow, filters, columns, func(*connection, term.Page) {})
}

// listWith is list, and complete adds to what is printed for people.
func listWith(engine *finder, screen term.Screen, f listFlags, what, workflow string, filters map[string]string, columns []term.Column, complete func(*connection, term.Page)) error {
	c, err := engine.connect(f.clientFlags)
	if err != nil {
		return err
	}
	operation := "list" + what
	params := map[string]any{"order": "desc", "limit": f.Limit}
	if f.Q != "" {
		params["q"] = f.Q
	}
	if workflow != "" {
		operation = "listWorkflow" + what
		params["workflow"] = workflow
	}
	for name, value := range filters {
		if value != "" {
			params[name] = value
		}
	}
	if workflow == "" && columns[0].Field != "name" && columns[1].Field != "workflow" {
		columns = append([]term.Column{{Title: "workflow", Field: "workflow"}}, columns...)
	}
	return answer(c, operation, params, func(p term.Page) error {
		complete(c, p)
		screen.Table(p, columns, "none")
		return nil
	})
}

// show asks for one thing and prints its fields.
func show(engine *finder, screen term.Screen, f clientFlags, operation string, params map[string]any) error {
	c, err := engine.connect(f)
	if err != nil {
		return err
	}
	return answer(c, operation, params, func(document json.RawMessage) error { return screen.Fields(document) })
}

type (
	workflowsCmd struct {
		List   listWorkflows `cmd:"" default:"withargs" help:"List workflows."`
		Show   showWorkflow  `cmd:"" help:"Show a workflow and its handlers."`
		Source showSource    `cmd:"" help:"Print a workflow's script."`
	}
	listWorkflows struct {
		listFlags
		Status string `help:"Only those of this status: ${workflow_status}."`
	}
	showWorkflow struct {
		clientFlags
		Name string `arg:"" help:"The workflow."`
	}
	showSource struct {
		clientFlags
		Name    string `arg:"" help:"The workflow."`
		Version string `placeholder:"MAJOR.MINOR" help:"A former version; else the current one."`
	}
	runsCmd struct {
		List listRuns `cmd:"" default:"withargs" help:"List runs."`
		Show showRun  `cmd:"" help:"Show a run, its log or the evidence for a repair."`
	}
	listRuns struct {
		listFlags
		ofWorkflow
		Status  string `help:"Only those of this status: ${run_status}."`
		Phase   string `help:"Only those in this phase: ${run_phase}."`
		Handler string `help:"Only those of this handler."`
	}
	eventsCmd struct {
		List listEvents `cmd:"" default:"withargs" help:"List events."`
		Show showEvent  `cmd:"" help:"Show an event."`
	}
	listEvents struct {
		listFlags
		ofWorkflow
		Topic  string `help:"Only those of this topic."`
		Status string `help:"Only those of this status: ${event_status}."`
		State  string `help:"Only those whose job is in this state: ${job_state}."`
	}
	showEvent struct {
		clientFlags
		Name      string `arg:"" name:"workflow" help:"The workflow."`
		Topic     string `arg:"" help:"The topic."`
		MessageID string `arg:"" help:"The event's message id."`
	}
	jobsCmd struct {
		List listJobs `cmd:"" default:"withargs" help:"List jobs."`
		Show showJob  `cmd:"" help:"Show a job with its attempts."`
	}
	listJobs struct {
		listFlags
		ofWorkflow
		Topic string `help:"Only those of this topic."`
		State string `help:"Only those in this state: ${job_state}."`
	}
	showJob      struct{ showEvent }
	mutationsCmd struct {
		List listMutations `cmd:"" default:"withargs" help:"List mutations."`
		Show showMutation  `cmd:"" help:"Show a mutation with its parameters and its result."`
	}
	listMutations struct {
		listFlags
		ofWorkflow
		Status string `help:"Only those of this status: ${mutation_status}."`
	}
	showMutation struct {
		clientFlags
		Mutation string `arg:"" help:"The mutation."`
	}
	inputsCmd struct {
		List listInputs `cmd:"" default:"withargs" help:"List inputs."`
		Show showInput  `cmd:"" help:"Show an input with the mutations that came of it."`
	}
	listInputs struct {
		listFlags
		ofWorkflow
		Status string `help:"Only those of this status: ${input_status}."`
	}
	showInput struct {
		clientFlags
		Name  string `arg:"" name:"workflow" help:"The workflow."`
		Input string `arg:"" help:"The input, as pawl inputs list shows it."`
	}
	sessionsCmd struct {
		List listSessions `cmd:"" default:"withargs" help:"List sessions."`
		Show showSession  `cmd:"" help:"Show a session."`
	}
	listSessions struct {
		listFlags
		ofWorkflow
		Status string `name:"result" aliases:"status" help:"Only those with this result: ${session_result}."`
	}
	showSession struct {
		clientFlags
		Name    string `arg:"" name:"workflow" help:"The workflow."`
		Session string `arg:"" help:"The session, as pawl sessions list shows it."`
	}
)

func (c *listWorkflows) Run(engine *finder, screen term.Screen) error {
	return listWith(engine, screen, c.listFlags, "Workflows", "", map[string]string{"status": c.Status}, []term.Column{
		{Title: "workflow", Field: "name"}, {Title: "version", Field: "version"}, {Title: "status", Field: "status"},
		{Title: "revision", Field: "revision"}, {Title: "held", Field: "held"}, {Title: "because", Field: "because", Width: 70},
	}, addHolds)
}

func (c *showWorkflow) Run(engine *finder, screen term.Screen) error {
	if err := show(engine, screen, c.clientFlags, "getWorkflow", map[string]any{"workflow": c.Name}); err != nil || c.JSON {
		return err
	}
	connected, err := engine.connect(c.clientFlags)
	if err != nil {
		return err
	}
	return answer(connected, "listWorkflowHandlers", map[string]any{"workflow": c.Name}, func(p term.Page) error {
		fmt.Fprintln(screen.Out)
		screen.Table(p, []term.Column{
			{Title: "handler", Field: "name"}, {Title: "type", Field: "type"},
			{Title: "next run", Field: "nextRunAt", Show: term.Moment}, {Title: "wakes", Field: "wakeAt", Show: term.Moment},
		}, "no handlers")
		return nil
	})
}

func (c *showSource) Run(engine *finder, screen term.Screen) error {
	connected, err := engine.connect(c.clientFlags)
	if err != nil {
		return err
	}
	params := map[string]any{"workflow": c.Name}
	if c.Version != "" {
		params["version"] = c.Version
	}
	return answer(connected, "getSource", params, func(script struct{ Source string }) error {
		_, err := io.WriteString(screen.Out, script.Source)
		return err
	})
}

func (c *listRuns) Run(engine *finder, screen term.Screen) error {
	return list(engine, screen, c.listFlags, "Runs", c.Workflow, map[string]string{"status": c.Status, "phase": c.Phase, "handler": c.Handler}, []term.Column{
		{Title: "run", Field: "id"}, {Title: "workflow", Field: "workflow"}, {Title: "handler", Field: "handler"},
		{Title: "status", Field: "status"}, {Title: "phase", Field: "phase"}, {Title: "started", Field: "startedAt", Show: term.Moment},
		{Title: "error", Field: "error.message", Width: 60},
	})
}

func (c *listEvents) Run(engine *finder, screen term.Screen) error {
	return list(engine, screen, c.listFlags, "Events", c.Workflow, map[string]string{"topic": c.Topic, "status": c.Status, "state": c.State}, []term.Column{
		{Title: "topic", Field: "topic"}, {Title: "status", Field: "status"},
		{Title: "message id", Field: "messageId", Width: 40}, {Title: "title", Field: "title", Width: 70},
	})
}

func (c *showEvent) params() map[string]any {
	return map[string]any{"workflow": c.Name, "topic": c.Topic, "messageId": c.MessageID}
}

func (c *showEvent) Run(engine *finder, screen term.Screen) error {
	return show(engine, screen, c.clientFlags, "getEvent", c.params())
}

func (c *listJobs) Run(engine *finder, screen term.Screen) error {
	return listWith(engine, screen, c.listFlags, "Jobs", c.Workflow, map[string]string{"topic": c.Topic, "state": c.State}, []term.Column{
		{Title: "topic", Field: "topic"}, {Title: "state", Field: "state"}, {Title: "attempt", Field: "attemptOf"},
		{Title: "due", Field: "scheduledAt", Show: term.Moment}, {Title: "message id", Field: "messageId", Width: 40},
	}, addAttempts)
}

// addAttempts says beside each job which of its attempts it is at, as in "2 of 4".
func addAttempts(_ *connection, p term.Page) {
	for _, job := range p.Items {
		job["attemptOf"] = term.Plain(job["attempt"])
		if retries, ok := job["maxAttempts"].(float64); ok {
			job["attemptOf"] = fmt.Sprintf("%s of %d", term.Plain(job["attempt"]), int(retries)+1)
		}
	}
}

func (c *showJob) Run(engine *finder, screen term.Screen) error {
	return show(engine, screen, c.clientFlags, "getJob", c.params())
}

func (c *listMutations) Run(engine *finder, screen term.Screen) error {
	return list(engine, screen, c.listFlags, "Mutations", c.Workflow, map[string]string{"status": c.Status}, []term.Column{
		{Title: "mutation", Field: "id"}, {Title: "workflow", Field: "workflow"}, {Title: "connector", Field: "connector"},
		{Title: "operation", Field: "operation"}, {Title: "status", Field: "status"}, {Title: "title", Field: "uiTitle", Width: 50},
		{Title: "result", Field: "result", Instead: "error.message", Width: 30}, {Title: "started", Field: "startedAt", Show: term.Moment},
	})
}

func (c *showMutation) Run(engine *finder, screen term.Screen) error {
	return show(engine, screen, c.clientFlags, "getMutation", map[string]any{"mutation": c.Mutation})
}

func (c *listInputs) Run(engine *finder, screen term.Screen) error {
	return list(engine, screen, c.listFlags, "Inputs", c.Workflow, map[string]string{"status": c.Status}, []term.Column{
		{Title: "input", Field: "id"}, {Title: "source", Field: "source"}, {Title: "type", Field: "type"}, {Title: "status", Field: "status"},
		{Title: "outputs", Field: "outputs", Show: term.Length}, {Title: "title", Field: "title", Width: 70},
	})
}

func (c *showInput) Run(engine *finder, screen term.Screen) error {
	return show(engine, screen, c.clientFlags, "getInput", map[string]any{"workflow": c.Name, "input": c.Input})
}

func (c *listSessions) Run(engine *finder, screen term.Screen) error {
	return list(engine, screen, c.listFlags, "Sessions", c.Workflow, map[string]string{"status": c.Status}, []term.Column{
		{Title: "session", Field: "id"}, {Title: "result", Field: "result"}, {Title: "runs", Field: "runs"},
		{Title: "started", Field: "startedAt", Show: term.Moment}, {Title: "ended", Field: "endedAt", Show: term.Moment},
	})
}

func (c *showSession) Run(engine *finder, screen term.Screen) error {
	return show(engine, screen, c.clientFlags, "getSession", map[string]any{"workflow": c.Name, "session": c.Session})
}
