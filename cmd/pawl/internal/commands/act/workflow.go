package act

import (
	"fmt"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// workflowAction is an operator's action on a workflow.
type workflowAction struct {
	client.Flags
	Name string `arg:"" name:"workflow" help:"The workflow."`
}

// act carries out the operation, and prints what the workflow is like then.
func act[S fmt.Stringer](c *workflowAction, engine *client.Finder, screen term.Screen, operation string) error {
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	return client.Answer(connected, operation, map[string]any{"workflow": c.Name}, func(w S) error {
		fmt.Fprintln(screen.Out, w)
		return nil
	})
}

// workflowStatus is the status of a workflow, and what holds it.
type workflowStatus struct {
	Name, Status string
	UserPaused   bool
	Blocked      *struct{ Reason, Message string }
	Maintenance  bool
}

func (w workflowStatus) String() string {
	text := w.Name + " is " + w.Status
	if w.Blocked != nil {
		text += ", and"
		if !w.UserPaused && w.Status != "archived" {
			text = w.Name + " is" // the text of the hold says the status
		}
		text += fmt.Sprintf(" held (%s): %s; more: pawl why %s",
			w.Blocked.Reason, term.OneLine(w.Blocked.Message, 300), w.Name)
	}
	if w.Maintenance && w.Status == "active" { // only a new script ends maintenance (F9)
		text += fmt.Sprintf(", but stays in maintenance: nothing of it runs until its script is repaired "+
			"(pawl repair %s FILE) or deployed, also unchanged (pawl deploy FILE)", w.Name)
	}
	return text
}
