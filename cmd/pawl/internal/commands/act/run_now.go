package act

import (
	"fmt"
	"io"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/ops"
)

// RunNow is `pawl run-now`: queue every producer of a workflow (S5).
type RunNow struct{ workflowAction }

// Help says what may come before the producers.
func (*RunNow) Help() string {
	return "At most one run of a workflow is active, and nothing of it runs while it is held: " +
		"then its producers are queued. The answer says what each of them waits for, and what can be done about it. " +
		"While a run is active the command is refused."
}

// Run queues the producers and says which of them runs now; what they do shows in the log.
func (c *RunNow) Run(engine *client.Finder, screen term.Screen) error {
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	return client.Answer(connected, "runWorkflow", map[string]any{"workflow": c.Name},
		func(w struct{ Producers []ops.QueuedProducer }) error {
			printQueued(screen.Out, c.Name, w.Producers)
			return nil
		})
}

// printQueued prints which producers run now, and for the others what they wait for and how that ends.
func printQueued(out io.Writer, workflow string, producers []ops.QueuedProducer) {
	var waiting []string
	var behind *ops.Behind
	for _, p := range producers {
		if p.Behind == nil {
			fmt.Fprintf(out, "%s of %s runs now\n", p.Name, workflow)
			continue
		}
		waiting, behind = append(waiting, string(p.Name)), p.Behind // all of them wait for the same
	}
	if behind == nil {
		return
	}
	be := "is"
	if len(waiting) > 1 {
		be = "are"
	}
	fmt.Fprintf(out, "%s of %s %s queued behind this: %s\n", strings.Join(waiting, ", "), workflow, be,
		term.OneLine(behind.Message, 2000))
	for _, command := range behind.Commands {
		fmt.Fprintf(out, "  %s\n", term.OneLine(command, 300))
	}
}
