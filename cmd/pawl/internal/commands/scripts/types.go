package scripts

import (
	"io"

	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/sandbox"
)

// Types is `pawl types`: print the declarations that editors read.
type Types struct{}

// Run prints the declaration file for editors.
func (Types) Run(screen term.Screen) error {
	_, err := io.WriteString(screen.Out, sandbox.Typings)
	return err
}
