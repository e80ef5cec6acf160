package run

import (
	"os"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/engine/connector/mailparse"
)

// ParseMail is the process that parses mails: it serves an engine until the engine ends. An engine starts it; people
// have no use for it.
func ParseMail() error {
	if err := mailparse.Serve(os.Stdin, os.Stdout); err != nil {
		return exit.Failed("this command is started by an engine, not by hand", err)
	}
	return nil
}
