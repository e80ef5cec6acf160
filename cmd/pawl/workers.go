package main

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/worker"
)

// newWorkers starts the processes that scripts run in: this program again, as `pawl worker`.
// At most size of them compute at once.
func newWorkers(s settings, with parts, size int, logger *slog.Logger) (*worker.Pool, error) {
	p := s.Policies.Script
	workers, err := worker.NewPool(worker.Config{
		Command: with.Worker, Size: size, Memory: int64(p.Memory), Require: s.Sandbox, Logger: logger,
		Limits: sandbox.Limits{CPU: p.CPU, Wall: p.Wall, Source: int(p.Source)}, // of reading a definition
	})
	if err != nil {
		return nil, exit.Failed("scripts run only in processes of their own; --require-sandbox=none accepts what this machine can confine", err)
	}
	return workers, nil
}

type (
	// workerCmd is the process that scripts run in. An engine starts it; it is of no use to people.
	workerCmd struct{}

	workersCmd struct {
		clientFlags
	}
)

// Run serves an engine until that ends.
func (workerCmd) Run() error {
	if err := worker.Run(os.Stdin, os.Stdout); err != nil {
		return exit.Failed("this command is started by an engine, not by hand", err)
	}
	return nil
}

// Run prints what runs scripts.
func (c *workersCmd) Run(engine *finder, screen term.Screen) error {
	connected, err := engine.connect(c.clientFlags)
	if err != nil {
		return err
	}
	return answer(connected, "getWorkers", nil, func(r worker.Report) error {
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
