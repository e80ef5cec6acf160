package run

import (
	"os"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/engine/connector/mailparse"
)

// ParseMail is that process. An engine starts it; it is of no use to people.
type ParseMail struct{}

// Run serves an engine until that ends.
func (ParseMail) Run() error {
	if err := mailparse.Serve(os.Stdin, os.Stdout); err != nil {
		return exit.Failed("this command is started by an engine, not by hand", err)
	}
	return nil
}
