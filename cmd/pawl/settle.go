package main

import (
	"encoding/json"
	"fmt"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// mutationAction is an operator's action on a mutation.
type mutationAction struct {
	clientFlags
	Mutation string `arg:"" help:"The mutation, as pawl mutations list shows it."`
}

type (
	approveCmd struct {
		mutationAction
		Hash string `name:"params-hash" placeholder:"SHA256" help:"Refuse if other parameters are recorded than those you looked at."`
	}
	rejectCmd  struct{ mutationAction }
	resolveCmd struct {
		mutationAction
		Happened     bool   `xor:"resolution" help:"It happened: next runs with RESULT as the call's result."`
		DidNotHappen bool   `xor:"resolution" help:"It did not happen: it is done afresh."`
		Skip         bool   `xor:"resolution" help:"Go on without it: its events count as skipped."`
		TryAgain     bool   `xor:"resolution" help:"Ask the connector again what became of it."`
		Result       string `arg:"" optional:"" help:"With --happened: what the call answered, as JSON; next is given null when it is left out."`
	}
)

func (c *approveCmd) Run(engine *finder, screen term.Screen) error {
	params := map[string]any{}
	if c.Hash != "" {
		params["paramsHash"] = c.Hash
	}
	return c.act(engine, screen, "approveMutation", params, consequence{})
}

func (c *rejectCmd) Run(engine *finder, screen term.Screen) error {
	return c.act(engine, screen, "rejectMutation", map[string]any{}, rejected)
}

func (c *resolveCmd) Run(engine *finder, screen term.Screen) error {
	resolution, then := "", consequence{}
	params := map[string]any{}
	if c.Result != "" {
		if !c.Happened {
			return exit.Misconfigured("leave it out", "RESULT %q belongs to --happened", c.Result)
		}
		if !json.Valid([]byte(c.Result)) {
			return exit.Misconfigured(`write text in quotes, as in '"sent"', or leave it out`, "RESULT %q is not JSON", c.Result)
		}
		params["result"] = json.RawMessage(c.Result)
	}
	switch {
	case c.Happened:
		resolution, then = "did_happen", happened(c.Result)
	case c.DidNotHappen:
		resolution, then = "did_not_happen", undone
	case c.Skip:
		resolution, then = "skip", skipped
	case c.TryAgain:
		resolution, then = "try_again", askedAgain
	default:
		return exit.Misconfigured("look at the other side first: pawl mutations show "+c.Mutation, "say what became of it: --happened, --did-not-happen, --skip or --try-again")
	}
	params["resolution"] = resolution
	return c.act(engine, screen, "resolveMutation", params, then)
}

// consequence is what an action on a mutation has done, and the work that goes on then unless the
// workflow is held; work is empty for what no hold keeps back, done where the status says it all.
type consequence struct{ done, work string }

var (
	rejected   = consequence{done: "is rejected: nothing has left, its events end as skipped, and its run goes on without it"}
	undone     = consequence{done: "did not happen: its events are free", work: "a fresh run takes them"}
	skipped    = consequence{done: "is skipped: its events end as skipped", work: "the workflow goes on without it"}
	askedAgain = consequence{done: "is asked about again; nothing is sent"}
)

// happened is what next is given then (O4): the result that the person has written, or null.
func happened(result string) consequence {
	if result == "" {
		result = "null as none was given"
	}
	return consequence{done: "happened, with the result " + term.OneLine(result, 200), work: "its run goes on with next"}
}

// of says it of one mutation, whose workflow stands so.
func (c consequence) of(mutation string, w standing) string {
	text := mutation + " " + c.done
	switch {
	case c.work == "":
	case w.Status == "archived":
		text += fmt.Sprintf("; %s is archived, so nothing of it runs again", w.Name)
	case w.UserPaused:
		text += fmt.Sprintf(", and %s once %s is resumed (pawl resume %s)", c.work, w.Name, w.Name)
	case w.Blocked != nil || w.Maintenance:
		text += fmt.Sprintf(", and %s once %s is no longer held (pawl why %s)", c.work, w.Name, w.Name)
	default:
		text += ", and " + c.work
	}
	return text
}

func (c *mutationAction) act(engine *finder, screen term.Screen, operation string, params map[string]any, then consequence) error {
	connected, err := engine.connect(c.clientFlags)
	if err != nil {
		return err
	}
	params["mutation"] = c.Mutation
	return answer(connected, operation, params, func(m struct{ ID, Workflow, Connector, Operation, Status string }) error {
		if then.done == "" {
			then.done = "is " + m.Status
		}
		var w standing
		if then.work != "" {
			if err := connected.do("getWorkflow", map[string]any{"workflow": m.Workflow}, &w); err != nil {
				// It is recorded: an error would have it done again.
				fmt.Fprintf(screen.Out, "mutation %s %s; how %s stands now is not known: %v\n", m.ID, then.done, m.Workflow, err)
				return nil
			}
		}
		fmt.Fprintln(screen.Out, then.of(fmt.Sprintf("%s (%s.%s of %s)", m.ID, m.Connector, m.Operation, m.Workflow), w))
		return nil
	})
}
