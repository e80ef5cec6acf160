package run

import (
	"os"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/sandbox/worker"
)

// Worker is the process that scripts run in: it serves an engine until the engine ends. An engine starts it; people
// have no use for it.
func Worker() error {
	if err := worker.Run(os.Stdin, os.Stdout); err != nil {
		return exit.Failed("this command is started by an engine, not by hand", err)
	}
	return nil
}
