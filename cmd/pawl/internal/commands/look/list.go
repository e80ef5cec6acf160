package look

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/ops"
)

// listFlags are the flags of every list. Lists show the newest, the newest at the bottom.
type listFlags struct {
	client.Flags
	Limit int    `default:"50" help:"How many of the newest to show, at most 1000."`
	After string `placeholder:"CURSOR" help:"Go on with the older ones behind a page that has shown this: next of --json."`
	Q     string `name:"q" placeholder:"TEXT" help:"Only those with this text in a title, id or error; of runs and mutations also in the id or title of an event. Ten characters or more of an id that pawl made find it, and a whole idempotency key finds its mutation."`
}

// choiceSeparator is between the values of a filter.
const choiceSeparator = ", "

// ChoicesOf are the values that a flag takes, nil where it takes any.
func ChoicesOf(flag *kong.Flag) []string {
	if choices := Choices()[flag.Tag.Get("choices")]; choices != "" {
		return strings.Split(choices, choiceSeparator)
	}
	return nil
}

// Choices are the values of filters for the help, from the table of operations.
func Choices() kong.Vars {
	vars := kong.Vars{}
	for name, of := range map[string][2]string{
		"workflow_status": {"listWorkflows", "status"}, "run_phase": {"listRuns", "phase"},
		"event_status": {"listEvents", "status"}, "job_state": {"listJobs", "state"},
		"mutation_status": {"listMutations", "status"}, "mutation_held": {"listMutations", "held"},
		"held":         {"listJobs", "held"},
		"input_status": {"listInputs", "status"}, "session_result": {"listSessions", "status"},
	} {
		vars[name] = strings.Join(ops.Possible(of[0], of[1]), choiceSeparator)
	}
	vars["run_status"] = strings.Join(runStatuses(), choiceSeparator)
	return vars
}

// list asks for the newest and prints them.
func list(engine *client.Finder, screen term.Screen, f listFlags, what string, of ofWorkflow,
	filters map[string]any, columns []term.Column,
) error {
	return listWith(engine, screen, f, what, of, filters, columns, func(*client.Connection, term.Page) {})
}

// listWith is list. complete adds to the items before they are printed for people.
func listWith(engine *client.Finder, screen term.Screen, f listFlags, what string, of ofWorkflow,
	filters map[string]any, columns []term.Column, complete func(*client.Connection, term.Page),
) error {
	operation := "list" + what
	for name, value := range filters {
		possible := ops.Possible(operation, name)
		if value != "" && possible != nil && !slices.Contains(possible, fmt.Sprint(value)) {
			return exit.Misconfigured(fmt.Sprintf("pawl %s list --help", strings.ToLower(what)),
				"--%s is %q; it must be one of %s", name, value, strings.Join(possible, ", "))
		}
	}
	c, err := engine.Connect(f.Flags)
	if err != nil {
		return err
	}
	params := map[string]any{"order": "desc", "limit": f.Limit}
	if f.Q != "" {
		params["q"] = f.Q
	}
	if f.After != "" {
		params["cursor"] = f.After
	}
	if of.Workflow != "" {
		operation = "listWorkflow" + what
		params["workflow"] = of.Workflow
	}
	of.narrow(params)
	for name, value := range filters {
		if value != "" {
			params[name] = value
		}
	}
	if of.Workflow == "" && columns[0].Field != "name" && columns[1].Field != "workflow" {
		columns = append([]term.Column{{Title: "workflow", Field: "workflow", Spare: 1}}, columns...)
	}
	return client.Answer(c, operation, params, func(p term.Page) error {
		complete(c, p)
		screen.Table(p, columns, "")
		return nil
	})
}

// show asks for one thing and prints its fields.
func show(engine *client.Finder, screen term.Screen, f client.Flags, operation string, params map[string]any) error {
	c, err := engine.Connect(f)
	if err != nil {
		return err
	}
	return client.Answer(c, operation, params, func(document json.RawMessage) error { return screen.Fields(document) })
}

// ofWorkflow narrows a list to one workflow and to a period.
type ofWorkflow struct {
	Workflow string `short:"w" placeholder:"NAME" help:"Only those of this workflow."`
	Since    moment `placeholder:"TIME" help:"Only what happened then or later: a time as lists show it, a day, one as in RFC 3339, or how long ago, such as 90m, 12h or 7d."`
	Until    moment `placeholder:"TIME" help:"Only what happened before then, written as for --since."`
}

// moment is a time on the command line; zero is none.
type moment struct{ time.Time }

// UnmarshalText reads a time, or how long ago it is by this machine's clock.
func (m *moment) UnmarshalText(text []byte) error { return m.read(string(text), time.Now()) }

func (m *moment) read(text string, now time.Time) (err error) {
	m.Time, err = term.ReadMoment(text, now)
	return err
}

// narrow adds the period to an operation's parameters.
func (o ofWorkflow) narrow(params map[string]any) {
	for name, m := range map[string]moment{"since": o.Since, "until": o.Until} {
		if !m.IsZero() {
			params[name] = m.UTC().Format(time.RFC3339Nano)
		}
	}
}
