package act

import (
	"fmt"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Resume is `pawl resume`: end a pause, and the system's hold with it (O6).
type Resume struct{ workflowAction }

// Run resumes it and prints its status.
func (c *Resume) Run(engine *client.Finder, screen term.Screen) error {
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	return client.Answer(connected, "resumeWorkflow", map[string]any{"workflow": c.Name}, func(w resumed) error {
		fmt.Fprintln(screen.Out, w)
		return nil
	})
}

// resumed is a workflow after a resume, which frees those of its held events that wait for a person (C5).
type resumed struct {
	workflowStatus
	Counts struct{ Held int }
}

func (w resumed) String() string {
	text := w.workflowStatus.String()
	switch w.Counts.Held {
	case 0:
		return text
	case 1:
		return text + fmt.Sprintf("; 1 event is still held (pawl why %s)", w.Name)
	}
	return text + fmt.Sprintf("; %d events are still held (pawl why %s)", w.Counts.Held, w.Name)
}
