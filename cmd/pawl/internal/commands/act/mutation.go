package act

import (
	"fmt"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// mutationsAction is an operator's action on mutations: those named, or those that a filter chooses.
type mutationsAction struct {
	bulkFlags
	Mutation []string `arg:"" optional:"" help:"The mutations, as pawl mutations list shows them; left out with --where."`
}

func (c *mutationsAction) act(engine *client.Finder, screen term.Screen, on bulkAction) error {
	return c.bulkFlags.act(engine, screen, c.Mutation, on)
}

// consequence is what an action on a mutation has done, and the work that then goes on unless the workflow is held;
// work is empty where a hold does not matter.
type consequence struct{ done, work string }

var (
	approved = consequence{done: "is approved: it leaves once, exactly as recorded"}
	rejected = consequence{done: "is rejected: nothing has left, its events end as skipped, " +
		"and its run goes on without it"}
	undone     = consequence{done: "did not happen: its events are free", work: "a fresh run takes them"}
	skipped    = consequence{done: "is skipped: its events end as skipped", work: "the workflow goes on without it"}
	askedAgain = consequence{done: "is asked about again; nothing is sent"}
)

// happened is the consequence for a mutation that happened (O4): next gets the result that the person has written, or
// null.
func happened(result string) consequence {
	if result == "" {
		result = "null as none was given"
	}
	return consequence{done: "happened, with the result " + term.OneLine(result, 200), work: "its run goes on with next"}
}

// of is the text of the consequence for one mutation, whose workflow has this status.
func (c consequence) of(mutation string, w workflowStatus) string {
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

// bulkAction is an action on many mutations, and its form for one.
type bulkAction struct {
	operation, one, verb, done string
	params                     map[string]any
	then                       consequence
}

// act carries the action out on the mutations that are named, or that the filter chooses.
func (f *bulkFlags) act(engine *client.Finder, screen term.Screen, named []string, on bulkAction) error {
	usage := fmt.Sprintf("pawl %s MUTATION, or pawl %s --where held=REASON,q=TEXT", on.verb, on.verb)
	switch {
	case f.Where != "" && len(named) > 0:
		return exit.Misconfigured(usage, "name the mutations or say --where, not both")
	case f.Where == "" && len(named) == 0:
		return exit.Misconfigured(usage, "nothing says which mutations are meant")
	case f.Where == "" && f.DryRun:
		return exit.Misconfigured(usage, "--dry-run belongs to --where")
	}
	if f.Comment != "" {
		on.params["comment"] = f.Comment
	}
	filter := map[string]any{"dryRun": true}
	if f.Where != "" {
		if _, err := where(f.Where, "listMutations", mutationFilters, filter, usage); err != nil {
			return err
		}
	}
	connected, err := engine.Connect(f.Flags)
	if err != nil {
		return err
	}
	if len(named) == 1 {
		return actOnOne(connected, named[0], on)
	}
	chosen, err := f.count(connected, named, filter, on)
	if err != nil || f.DryRun || chosen.Matched == 0 {
		return err
	}
	if f.Where != "" && !f.Yes {
		if err := confirm(screen, fmt.Sprintf("%s %s?", on.verb, chosen)); err != nil {
			return err
		}
	}
	return actOnMany(connected, chosen.Items, on)
}

// actOnOne carries the action out on one mutation.
func actOnOne(connected *client.Connection, mutation string, on bulkAction) error {
	screen, then, params := connected.Screen, on.then, on.params
	params["mutation"] = mutation
	return client.Answer(connected, on.one, params, func(m struct{ ID, Workflow, Connector, Operation string }) error {
		var w workflowStatus
		if then.work != "" {
			if err := connected.Call("getWorkflow", map[string]any{"workflow": m.Workflow}, &w); err != nil {
				// The action is recorded: after an error a person would do it again.
				fmt.Fprintf(screen.Out, "mutation %s %s; how %s stands now is not known: %v\n", m.ID, then.done, m.Workflow, err)
				return nil
			}
		}
		fmt.Fprintln(screen.Out, then.of(fmt.Sprintf("%s (%s.%s of %s)", m.ID, m.Connector, m.Operation, m.Workflow), w))
		return nil
	})
}
