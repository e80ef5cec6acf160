package look

import (
	"fmt"
	"slices"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/sandbox/worker"
)

// Workers is `pawl workers`: say how far this machine confines scripts, and what their processes do.
type Workers struct {
	client.Flags
}

// Run prints the processes that run scripts.
func (c *Workers) Run(engine *client.Finder, screen term.Screen) error {
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	return client.Answer(connected, "getWorkers", nil, func(r worker.Report) error {
		fmt.Fprintf(screen.Out, "sandbox: %s\n", r.Sandbox)
		for _, missing := range r.Missing {
			fmt.Fprintf(screen.Out, "  missing %s\n", term.OneLine(missing, 200))
		}
		fmt.Fprintf(screen.Out, "%s may compute at once, each process with at most %s; %d waiting, %d restarted\n",
			term.Plural(r.Size, "script"), mebibytes(r.Memory), r.Waiting, r.Restarts)
		var rows term.Page
		for _, w := range slices.Backward(r.Workers) { // a table shows the last row first
			rows.Items = append(rows.Items, map[string]any{"pid": fmt.Sprint(w.PID), "state": w.State, "workflow": w.Workflow,
				"handler": w.Handler, "calls": fmt.Sprint(w.Calls), "scripts": fmt.Sprint(w.Scripts),
				"memory": mebibytes(w.Memory), "age": time.Since(w.Since).Round(time.Second).String()})
		}
		screen.Table(rows, []term.Column{{Title: "pid", Field: "pid"}, {Title: "state", Field: "state"},
			{Title: "workflow", Field: "workflow", Spare: 1}, {Title: "handler", Field: "handler", Spare: 2},
			{Title: "calls", Field: "calls"}, {Title: "scripts", Field: "scripts"}, {Title: "memory", Field: "memory"},
			{Title: "age", Field: "age"}}, "no process runs scripts now")
		return nil
	})
}

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }
