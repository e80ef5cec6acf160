package look

import (
	"fmt"
	"strings"
	"text/tabwriter"
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
		table := tabwriter.NewWriter(screen.Out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "pid\tstate\tworkflow\thandler\tcalls\tscripts\tmemory\tage")
		for _, w := range r.Workers {
			fmt.Fprintln(table, strings.Join([]string{fmt.Sprint(w.PID), w.State, w.Workflow, w.Handler, fmt.Sprint(w.Calls),
				fmt.Sprint(w.Scripts), mebibytes(w.Memory), time.Since(w.Since).Round(time.Second).String()}, "\t"))
		}
		return table.Flush()
	})
}

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }
