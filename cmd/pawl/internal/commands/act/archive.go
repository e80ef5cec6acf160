package act

import (
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Archive is `pawl archive`: stop a workflow for good and keep its history (O6).
type Archive struct {
	workflowAction
	Yes bool `short:"y" help:"Do not ask at a terminal before the workflow is stopped for good."`
}

// Run asks a person first: nothing brings an archived workflow back. A program is not asked. Both read what has ended.
func (c *Archive) Run(engine *client.Finder, screen term.Screen) error {
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	named := map[string]any{"workflow": c.Name}
	var hooks struct{ Items []struct{ Name string } }
	if err := connected.Call("listHooks", named, &hooks); err != nil {
		return err
	}
	var ends []string
	for _, h := range hooks.Items {
		ends = append(ends, fmt.Sprintf("hook %s ends", term.OneLine(h.Name, 100)))
	}
	if !c.Yes && term.IsTerminal(screen.In) {
		var now archivedWorkflow
		if err := connected.Call("getWorkflow", named, &now); err != nil {
			return err
		}
		what := append(now.unrun(), ends...)
		what = append(what, "its history stays", "its name cannot be used again")
		if err := confirm(screen, fmt.Sprintf("archive %s for good (%s)?", c.Name, strings.Join(what, ", "))); err != nil {
			return err
		}
	}
	return client.Answer(connected, "archiveWorkflow", named, func(w archivedWorkflow) error {
		ended := append(w.unrun(), ends...)
		fmt.Fprintln(screen.Out, strings.Join(append([]string{w.String()}, ended...), "; "))
		return nil
	})
}

// archivedWorkflow is a workflow with the events that its archiving leaves undone.
type archivedWorkflow struct {
	workflowStatus
	Counts struct{ Available, Retryable int }
}

// unrun says how many events will not run; it is empty for none.
func (w archivedWorkflow) unrun() []string {
	pending := w.Counts.Available + w.Counts.Retryable
	if pending == 0 {
		return nil
	}
	return []string{term.Plural(pending, "pending event") + " will not run"}
}
